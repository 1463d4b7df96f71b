// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/request_check_differential.cc: compares the daemon's check of requests with the
// code that the Thrift compiler generates, for COUNT random requests. Half of the requests are
// changed at random, as an attacker could change them.
//
//   request_check_differential COUNT [SEED]     compares with C++, and prints how many pass
//   request_check_differential --write COUNT [SEED] > FILE
//                          writes COUNT requests that pass, for the readers of other languages:
//                          u8 encoding, u8 length and name of the function, u32 length
//                          (big-endian) and bytes of the request
//   request_check_differential --seeds FOLDER   writes the corpus of request_check_fuzz
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "daemon/thrift/checked_service.h"

namespace hat::thrift {
namespace {

constexpr std::array kEncodings = {Encoding::kBinary, Encoding::kBinaryOld, Encoding::kCompact,
                                   Encoding::kJson};

std::string in_frame(const std::string& messages) {
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8) {
    frame += static_cast<char>(messages.size() >> shift);
  }
  return frame + messages;
}

struct Random {
  std::mt19937 bits;
  std::string last;

  std::string request(Encoding encoding) {
    std::string made = checked_request(encoding, bits);
    if (bits() % 2 == 0) mutate(made, last, bits);
    if (bits() % 4 == 0) last = made;
    return made;
  }
  // Returns a request in a frame. One frame in eight gets a second message, and one frame in eight
  // is changed at random.
  std::string framed(Encoding encoding) {
    std::string made = request(encoding);
    if (bits() % 8 == 0) made += last;
    made = in_frame(made);
    if (bits() % 8 == 0) mutate(made, last, bits);
    return made;
  }
};

// Returns `bytes` as text of a C string: backslashes and bytes that are not printable ASCII are in
// hexadecimal.
std::string shown(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte < 0x7f && c != '\\') {
      text += c;
    } else {
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return text;
}

int compare(uint64_t count, uint32_t seed) {
  Random random{std::mt19937(seed), ""};
  uint64_t passed = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const Encoding encoding = kEncodings[i % kEncodings.size()];
    const bool allow_unknown = i % 8 >= 4;
    const bool framed = i % 16 >= 8;
    const std::string request = framed ? random.framed(encoding) : random.request(encoding);
    if (const auto what = disagreement(request, allow_unknown)) {
      std::cerr << "request " << i << ": " << *what << "\n  " << shown(request) << "\n";
      return 1;
    }
    passed += !verdict_of(request, allow_unknown).fault;
  }
  std::cout << count << " requests: " << passed << " pass, each one call in stock C++ too\n";
  return 0;
}

void put32(std::ostream& out, size_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.put(static_cast<char>(value >> shift));
}

int write(uint64_t count, uint32_t seed) {
  Random random{std::mt19937(seed), ""};
  for (uint64_t written = 0, i = 0; written < count; ++i) {
    const size_t encoding = i % kEncodings.size();
    const std::string request = random.request(kEncodings[encoding]);
    const CheckedVerdict verdict = verdict_of(request, i % 8 >= 4);
    if (verdict.fault) continue;
    std::cout.put(static_cast<char>(encoding));
    std::cout.put(static_cast<char>(verdict.function.size()));
    std::cout << verdict.function;
    put32(std::cout, request.size());
    std::cout << request;
    ++written;
  }
  return std::cout.good() ? 0 : 1;
}

int write_seeds(const std::filesystem::path& folder) {
  std::mt19937 random(1);
  std::filesystem::create_directories(folder);
  for (int i = 0; i < 40; ++i) {
    const std::string request = checked_request(kEncodings[static_cast<size_t>(i) % 4], random);
    if (request.size() > 1000) continue;
    std::ofstream file(folder / ("request" + std::to_string(i)), std::ios::binary);
    file.put(static_cast<char>(i % 8 / 4));
    file << request;
  }
  return 0;
}

int run(const std::vector<std::string>& words) {
  const bool writes = !words.empty() && words[0] == "--write";
  if (words.size() == 2 && words[0] == "--seeds") return write_seeds(words[1]);
  const size_t at = writes ? 1 : 0;
  if (words.size() <= at) {
    std::cerr << "usage: request_check_differential [--write] COUNT [SEED] | --seeds FOLDER\n";
    return 2;
  }
  const uint64_t count = std::stoull(words[at]);
  const auto seed = static_cast<uint32_t>(words.size() > at + 1 ? std::stoul(words[at + 1]) : 1);
  return writes ? write(count, seed) : compare(count, seed);
}

}  // namespace
}  // namespace hat::thrift

int main(int argc, char** argv) { return hat::thrift::run({argv + 1, argv + argc}); }
