// SPDX-License-Identifier: Apache-2.0
// kv/server/handler.h: the Thrift handler of the service HatKV: answers calls from a store.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "HatKV.h"
#include "kv/server/operations.h"
#include "kv/server/tuning.h"
#include "kv/store/store.h"

namespace hat {

// Facts about the server that do not change while it runs.
struct ServiceFacts {
  std::string version;
  std::string durability;
  std::string backups;  // the folder for backups; empty: the server refuses backups
  Tuning tuning;
};

// Answers the calls of hatkv.thrift, and throws the exceptions that hatkv.thrift declares, which
// libthrift sends as answers. Any thread may call it. `store` and `operations` must outlive the
// handler.
class KvHandler : public hatkv::HatKVIf {
 public:
  KvHandler(Store& store, Operations& operations, ServiceFacts facts)
      : store_(store), operations_(operations), facts_(std::move(facts)) {}

  void get(std::string& value, const std::string& key) override;
  void put(const std::string& key, const std::string& value) override;
  void multiget(std::vector<hatkv::Lookup>& found, const std::vector<std::string>& keys) override;
  void multiput(const std::vector<hatkv::Pair>& pairs) override;
  bool remove(const std::string& key) override;
  void scan(hatkv::Page& page, const hatkv::Range& range, int32_t limit) override;
  void stats(hatkv::Stats& stats) override;
  void backup(hatkv::Backup& backup, const std::string& name) override;

 private:
  // Runs `body`, and records the call's duration and outcome for `operation`.
  template <class Body>
  void counted(Operation operation, Body&& body);

  Store& store_;
  Operations& operations_;
  const ServiceFacts facts_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace hat
