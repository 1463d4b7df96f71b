// SPDX-License-Identifier: Apache-2.0
// kv/server/handler.h: answers HatKV's calls out of a store.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "HatKV.h"
#include "kv/server/operations.h"
#include "kv/server/tuning.h"
#include "kv/store/store.h"

namespace hat {

// What the handler knows beside its store.
struct ServiceFacts {
  std::string version;
  std::string durability;
  std::string backups;  // the folder that backups are made in; empty: none are made
  Tuning tuning;
};

// Throws the exceptions that hatkv.thrift declares: that is how libthrift takes them. As
// thread-safe as the store, which must outlive it, as `operations` must.
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
  // Runs `body`, and counts it with its time and how it ended.
  template <class Body>
  void counted(Operation operation, Body&& body);

  Store& store_;
  Operations& operations_;
  const ServiceFacts facts_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace hat
