// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/connection.h: a stock Thrift client of HatKV, over TCP, a unix socket or rings.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"

namespace hatkv {
class HatKVClient;
class Lookup;
class Pair;
}  // namespace hatkv

namespace hat::ycsb {

// Framed binary, a connection that is kept. Each call either answers or says why not; after a call
// that failed the next one connects anew. One thread at a time.
class Connection {
 public:
  explicit Connection(Address address);
  ~Connection();

  Result<void> open();

  Result<void> get(const std::string& key, std::string& value);
  Result<void> put(const std::string& key, const std::string& value);
  Result<void> multiget(const std::vector<std::string>& keys, std::vector<hatkv::Lookup>& found);
  Result<void> multiput(const std::vector<hatkv::Pair>& pairs);

 private:
  Result<void> make(const char* name, const std::function<void()>& call);

  Address address_;
  std::unique_ptr<hatkv::HatKVClient> client_;  // none where the last call failed
};

}  // namespace hat::ycsb
