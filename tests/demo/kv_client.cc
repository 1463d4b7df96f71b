// SPDX-License-Identifier: Apache-2.0
// tests/demo/kv_client.cc: a C++ client of HatKV that uses only Thrift's library.
//
//   kv_client HOST PORT put KEY VALUE
//   kv_client HOST PORT get KEY
//   kv_client HOST PORT load SECONDS     calls put and get in turn; exit status 1 if a call failed
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSocket.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "HatKV.h"

namespace {

namespace thrift = apache::thrift;

int load(hatkv::HatKVClient& client, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  long calls = 0;
  long failed = 0;
  for (; std::chrono::steady_clock::now() < end; calls += 2) {
    const std::string key = "cpp-" + std::to_string(calls % 100);
    const std::string value = std::to_string(calls);
    std::string found;
    try {
      client.put(key, value);
      client.get(found, key);
      if (found != value) ++failed;
    } catch (const thrift::TException& error) {
      std::fprintf(stderr, "C++: %s\n", error.what());
      ++failed;
    }
  }
  std::printf("C++ client:    %ld calls, %ld failed\n", calls, failed);
  return failed == 0 ? 0 : 1;
}

int run(const std::vector<std::string>& words) {
  const auto socket = std::make_shared<thrift::transport::TSocket>(words[0], std::stoi(words[1]));
  const auto framed = std::make_shared<thrift::transport::TFramedTransport>(socket);
  hatkv::HatKVClient client(std::make_shared<thrift::protocol::TBinaryProtocol>(framed));
  framed->open();
  if (words[2] == "load") return load(client, std::stod(words[3]));
  if (words[2] == "put" && words.size() == 5) {
    client.put(words[3], words[4]);
    std::printf("C++ client:    put %s = %s\n", words[3].c_str(), words[4].c_str());
    return 0;
  }
  if (words[2] == "get") {
    std::string value;
    client.get(value, words[3]);
    std::printf("C++ client:    get %s = %s\n", words[3].c_str(), value.c_str());
    return 0;
  }
  std::fprintf(stderr, "kv_client: '%s' is no command: put, get or load\n", words[2].c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 4) {
    const bool asked = words == std::vector<std::string>{"--help"};
    std::fputs("usage: kv_client HOST PORT put KEY VALUE | get KEY | load SECONDS\n",
               asked ? stdout : stderr);
    return asked ? 0 : 2;
  }
  try {
    return run(words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kv_client: %s\n", error.what());
    return 1;
  }
}
