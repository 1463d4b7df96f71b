// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/connection.h: a stock Thrift client of HatKV over TCP, a unix socket or rings.
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

// One connection with framed transport and binary protocol. A call that fails returns an error with
// the reason. After an error of the transport or the protocol, the next call connects again. One
// thread at a time may use a Connection.
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
  // nullptr after an error of the transport or the protocol.
  std::unique_ptr<hatkv::HatKVClient> client_;
};

}  // namespace hat::ycsb
