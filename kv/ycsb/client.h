// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/client.h: performs one client thread's operations on HatKV: chooses keys, calls, checks.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "kv/ycsb/connection.h"
#include "kv/ycsb/generators.h"
#include "kv/ycsb/workload.h"

namespace hat::ycsb {

// Makes the same requests as CoreWorkload and MultiWorkload make through the Java binding. As
// there, the keys and the values are made before the clock starts: call prepare() first, then
// call(). One thread uses a Client. `workload` and `keys` must outlive it.
class Client {
 public:
  Client(const Workload& workload, const KeyChooser& keys, Address address, uint64_t seed);
  ~Client();

  Result<void> open() { return connection_.open(); }
  Random& random() { return random_; }

  // Chooses keys and makes values. `record` is the record that an insert creates; other operations
  // ignore it and choose their own records.
  void prepare(Operation operation, int64_t record = 0);
  // Makes the calls of the prepared operation.
  Result<void> call();
  // Fails unless the answers are right: the keys were found, the values have the right length and,
  // with dataintegrity, the right bytes. Callers do not include check() in the measured time.
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
  std::vector<std::string> values_;  // values to write, or values that were read
};

}  // namespace hat::ycsb
