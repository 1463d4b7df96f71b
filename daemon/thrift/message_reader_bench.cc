// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/message_reader_bench.cc: measures how long MessageReader takes to read a message,
// and prints a table in ns.
//
//   message_reader_bench [ROUNDS]    default: 20000 rounds; ctest runs 10, only to test the program
//
// For each row of the table, a MessageReader reads the same message repeatedly. libthrift has
// written the message, which is complete in memory. The row shows the best of five batches, because
// other work on the machine can only make a batch slower.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "daemon/thrift/message_reader.h"
#include "daemon/thrift/stock_messages.h"
#include "daemon/thrift/trace.h"

namespace hat::thrift {
namespace {

struct Row {
  std::string name;
  std::string bytes;
  double rounds_share;  // factor for ROUNDS; smaller for slower messages
};

// Reads one unit. Returns false if the bytes are not exactly one unit with one message.
bool read_unit(MessageReader& reader, std::span<const std::byte> bytes) {
  using Event = MessageReader::Event;
  const auto head = reader.next(bytes);
  if (head.event != Event::kHead) return false;
  const auto end = reader.next(bytes.subspan(head.consumed));
  return end.event == Event::kEnd && head.consumed + end.consumed == bytes.size();
}

double best_ns(const Row& row, int rounds) {
  using Clock = std::chrono::steady_clock;
  MessageReader reader;
  double best = std::numeric_limits<double>::max();
  for (int batch = 0; batch < 5; ++batch) {
    const auto begin = Clock::now();
    for (int round = 0; round < rounds; ++round) {
      if (!read_unit(reader, as_bytes(row.bytes))) {
        std::fprintf(stderr, "message_reader_bench: %s is not read as one unit\n",
                     row.name.c_str());
        std::exit(1);
      }
    }
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    best = std::min(best, took.count() / rounds);
  }
  return best;
}

std::vector<Row> rows() {
  std::mt19937 random(1);
  std::vector<Row> rows;
  const StockHead head{"echo", MessageType::kCall, 1};
  for (const auto& dialect : kDialects) {
    rows.push_back({std::string(dialect.name) + ", 64 B",
                    stock_message(dialect, head, {.kind = Body::Kind::kString, .size = 32}, random),
                    1});
  }
  for (const auto& dialect : kDialects) {
    const Body body{.kind = Body::Kind::kString, .size = 128 * 1024};
    const bool json = dialect.encoding == Encoding::kJson;
    rows.push_back({std::string(dialect.name) + ", string of 128 KiB",
                    stock_message(dialect, head, body, random), json ? 0.01 : 1});
  }
  for (const auto& dialect : kDialects) {
    if (dialect.framing != Framing::kUnframed) continue;
    const Body structs{.kind = Body::Kind::kStructs, .size = 4096};
    rows.push_back({std::string(dialect.name) + ", list of 4096 structs",
                    stock_message(dialect, head, structs, random), 0.01});
    const Body numbers{.kind = Body::Kind::kNumbers, .size = 16384};
    rows.push_back({std::string(dialect.name) + ", list of 16384 i64",
                    stock_message(dialect, head, numbers, random), 0.01});
  }
  return rows;
}

}  // namespace
}  // namespace hat::thrift

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20'000;
  if (rounds < 1) {
    std::fprintf(stderr, "usage: %s [ROUNDS]\n", argv[0]);
    return 2;
  }
  std::printf("%-48s %10s %12s\n", "message", "bytes", "ns");
  for (const auto& row : hat::thrift::rows()) {
    const int own = std::max(1, static_cast<int>(rounds * row.rounds_share));
    std::printf("%-48s %10zu %12.1f\n", row.name.c_str(), row.bytes.size(),
                hat::thrift::best_ns(row, own));
  }
  return 0;
}
