// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/handler.h: the handler of the test service (probe.thrift).
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "Probe.h"

namespace probe_peer {

class ProbeHandler : public probe::ProbeIf {
 public:
  void ping() override {}
  int32_t add(int32_t left, int32_t right) override { return left + right; }
  void echo(std::string& result, const std::string& data) override { result = data; }
  void echo_text(std::string& result, const std::string& text) override { result = text; }
  void echo_everything(probe::Everything& result, const probe::Everything& value) override {
    result = value;
  }
  void repeat(std::vector<probe::Everything>& result, const probe::Everything& value,
              int32_t times) override {
    result.assign(static_cast<size_t>(times), value);
  }
  int32_t divide(int32_t numerator, int32_t denominator) override;
  void fail(const std::string& why) override;
  void note(const std::string& who) override;
  int32_t count(const std::string& who) override;
  int32_t slow(int32_t ms) override;
  int32_t hurried(int32_t ms) override { return slow(ms); }
  void produce(std::string& result, int32_t size) override;
  int32_t consume(const std::string& data) override { return static_cast<int32_t>(data.size()); }

 private:
  std::mutex mutex_;
  std::map<std::string, int32_t> notes_;
};

}  // namespace probe_peer
