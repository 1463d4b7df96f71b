// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/combination.h: parses the command line of a test client or server into combinations
// of address, transport and protocol.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace probe_peer {

// One option `--connect` or `--listen`, and the options after it. tests/e2e/README.md lists the
// options, which are the same in every language.
struct Combination {
  std::string address;               // HOST:PORT, unix:PATH, shm:PATH or rdma:HOST:PORT
  std::string transport = "framed";  // buffered, framed, header, framed_header, zlib, http
  std::string protocol = "binary";   // binary, compact, json
  std::string server = "threaded";   // servers only
  std::string multiplexed;           // the service name of TMultiplexedProtocol; empty: not used
  std::string rdma_config;           // for rdma: the files of RdmaOptions
  std::string rdma_manifest;
  std::vector<std::string> cases;    // clients only; empty: all
  std::vector<std::string> skipped;  // clients only
  int timeout_ms = 20'000;           // clients only; for each read and write
  uint32_t large_bytes = 16u << 20;  // clients only; size of the largest value

  bool wants(const std::string& one) const;
  bool is_unix() const { return address.starts_with("unix:"); }
  // Returns true if the protocol is a THeaderProtocol, which makes its transport (THeader) itself.
  bool has_header() const { return transport == "header" || transport == "framed_header"; }
  bool is_shm() const { return address.starts_with("shm:"); }
  bool is_rdma() const { return address.starts_with("rdma:"); }
  std::string path() const { return address.substr(address.find(':') + 1); }
  std::string host() const {
    const std::string tcp = is_rdma() ? path() : address;
    return tcp.substr(0, tcp.rfind(':'));
  }
  int port() const { return std::stoi(address.substr(address.rfind(':') + 1)); }
};

// Parses the command line; the option named `first` begins each combination. Throws
// std::invalid_argument if the command line is wrong.
std::vector<Combination> read_combinations(int argc, char** argv, const std::string& first);

}  // namespace probe_peer
