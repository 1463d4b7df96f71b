// SPDX-License-Identifier: Apache-2.0
// kv/server/handler.h: answers HatKV's calls from a store.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "HatKV.h"
#include "kv/server/operations.h"
#include "kv/server/tuning.h"
#include "kv/store/store.h"

namespace hat {

// The handler's constants.
struct ServiceFacts {
  std::string version;
  std::string durability;
  std::string backups;  // the folder for backups; empty: the server refuses backups
  Tuning tuning;
};

// Throws the exceptions that hatkv.thrift declares, since libthrift turns these into answers. The
// handler is as thread-safe as the store. `store` and `operations` must outlive it.
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
  // Runs `body`; counts the call, its duration and its outcome.
  template <class Body>
  void counted(Operation operation, Body&& body);

  Store& store_;
  Operations& operations_;
  const ServiceFacts facts_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace hat
