// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/client.h: one client thread's operations on HatKV: which keys, which calls, what came.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "kv/ycsb/connection.h"
#include "kv/ycsb/generators.h"
#include "kv/ycsb/workload.h"

namespace hat::ycsb {

// Makes the requests that CoreWorkload and MultiWorkload make through the Java binding. As there,
// keys and values are made before the clock starts: prepare(), then call(). One thread; workload
// and chooser outlive it.
class Client {
 public:
  Client(const Workload& workload, const KeyChooser& keys, Address address, uint64_t seed);
  ~Client();

  Result<void> open() { return connection_.open(); }
  Random& random() { return random_; }

  // `record`: which one an insert makes; the other operations choose for themselves.
  void prepare(Operation operation, int64_t record = 0);
  // Makes the operation's calls.
  Result<void> call();
  // Whether what they answered is right: found, of the right length, and with dataintegrity of the
  // right bytes. Outside of what is timed.
  Result<void> check() const;

 private:
  Result<void> multi_read();
  Result<void> update();
  Result<void> multi_update();

  const Workload& workload_;
  const KeyChooser& key_chooser_;
  Connection connection_;
  Random random_;
  Operation operation_ = Operation::kRead;
  std::vector<std::string> keys_;
  std::vector<std::string> values_;  // to write, or as they were read
};

}  // namespace hat::ycsb
