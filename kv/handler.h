// kv/handler.h: answers HatKV's calls out of a store.
#pragma once

#include <string>
#include <vector>

#include "HatKV.h"
#include "kv/store.h"

namespace hat {

// Throws the exceptions that hatkv.thrift declares: that is how libthrift takes them. As
// thread-safe as the store, which must outlive it.
class KvHandler : public hatkv::HatKVIf {
 public:
  explicit KvHandler(Store& store) : store_(store) {}

  void get(std::string& value, const std::string& key) override;
  void put(const std::string& key, const std::string& value) override;
  void multiget(std::vector<hatkv::Lookup>& found, const std::vector<std::string>& keys) override;
  void multiput(const std::vector<hatkv::Pair>& pairs) override;
  bool remove(const std::string& key) override;

 private:
  Store& store_;
};

}  // namespace hat
