// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/message_reader_corpus.cc: writes the seed inputs of message_reader_fuzz into a
// folder.
//
//   message_reader_corpus tests/fuzz/corpus/message_reader_fuzz
//
// The seeds are small messages in each framing and encoding, written by libthrift, and the first
// bytes of other protocols.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>

#include "daemon/thrift/stock_messages.h"

namespace hat::thrift {
namespace {

struct Other {
  std::string_view name;
  std::string_view bytes;
};

using namespace std::string_view_literals;
constexpr Other kOthers[] = {
    {"tls", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"sv},
    {"http", "POST / HTTP/1.1\r\n"sv},
    {"zlib", "\x78\x9c\x62\x60"sv},
    {"sasl", "\x01\x00\x00\x00\x05PLAIN"sv},
    {"little_endian", "\x01\x00\x01\x80\x03\x00\x00\x00"sv},
    {"empty_frames", "\x00\x00\x00\x00\x00\x00\x00\x00"sv},
    {"theader_zlib",
     "\x00\x00\x00\x12\x0f\xff\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01\x01\x00zzzz"sv},
    {"theader_broken_info",
     "\x00\x00\x00\x22\x0f\xff\x00\x00\x00\x00\x00\x07\x00\x02\x00\x00\x01\x02\x01k\x7fx"
     "\x80\x01\x00\x01\x00\x00\x00\x03"
     "add\x00\x00\x00\x07\x00"sv},
    {"uuids",
     "\x80\x01\x00\x02\x00\x00\x00\x01u\x00\x00\x00\x01\x0f\x00\x00\x10\x00\x00\x00\x01"
     "0123456789abcdef\x10\x00\x01"
     "0123456789abcdef\x00"sv},
    {"compact_uuid",
     "\x82\x41\x01\x01u\x1d"
     "0123456789abcdef\x00"sv},
};

void write(const std::filesystem::path& file, std::string_view stream) {
  std::ofstream out(file, std::ios::binary);
  out << '\0' << stream;  // the byte 0: the stream is not cut into pieces
}

std::string framed(const std::string& body) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(body.size() >> shift);
  return bytes + body;
}

void write_all(const std::filesystem::path& folder) {
  std::mt19937 random(20);
  const StockHead call{"Store:get", MessageType::kCall, 7}, reply{"get", MessageType::kReply, -7};
  for (const auto& dialect : kDialects) {
    const std::string name(dialect.name);
    const auto one = stock_message(dialect, call, {.kind = Body::Kind::kString, .size = 9}, random);
    write(folder / (name + "_string"), one);
    write(folder / (name + "_empty"),
          stock_message(dialect, reply, {.kind = Body::Kind::kEmpty}, random));
    write(folder / (name + "_nested"),
          stock_message(dialect, call, {.kind = Body::Kind::kNested, .size = 5}, random));
    std::string random_one;
    while (random_one.size() < 80 || random_one.size() > 400) {
      random_one = stock_message(dialect, reply, {.first_field = 0}, random);
    }
    write(folder / (name + "_random"), random_one);
    if (dialect.framing == Framing::kUnframed) write(folder / (name + "_twice"), framed(one + one));
  }
  for (const auto& dialect : kDialects) {
    if (!has_header(dialect.framing)) continue;
    const Body body{.kind = Body::Kind::kEmpty};
    const std::string name(dialect.name);
    write(folder / (name + "_info"),
          stock_message(dialect, call, body, random, {{"client_timeout", "250"}}));
    write(folder / (name + "_infos"),
          stock_message(dialect, call, body, random,
                        {{"a", "1"}, {"client_timeout", "1000"}, {"trace", "0123456789"}}));
    constexpr char kTraceparent[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    write(folder / (name + "_trace"),
          stock_message(dialect, call, body, random, {{"traceparent", kTraceparent}}));
  }
  for (const auto& other : kOthers) write(folder / other.name, other.bytes);
}

}  // namespace
}  // namespace hat::thrift

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  hat::thrift::write_all(argv[1]);
  return 0;
}
