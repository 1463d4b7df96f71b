// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/client.h: one client of a YCSB workload: chooses keys, calls HatKV, and checks answers.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "kv/ycsb/connection.h"
#include "kv/ycsb/generators.h"
#include "kv/ycsb/workload.h"

namespace hat::ycsb {

// Makes the requests that YCSB's CoreWorkload and this project's MultiWorkload make through the
// Java binding. As in YCSB, the time to make keys and values is not measured: call prepare() first,
// and then measure call(). Only one thread may use a Client. `workload` and `keys` must outlive the
// Client.
class Client {
 public:
  Client(const Workload& workload, const KeyChooser& keys, Address address, uint64_t seed);
  ~Client();

  Result<void> open() { return connection_.open(); }
  Random& random() { return random_; }

  // Chooses the keys and makes the values of an operation. `record` is the record that an insert
  // creates; other operations ignore `record` and choose records by the workload's distribution.
  void prepare(Operation operation, int64_t record = 0);
  // Makes the calls of the prepared operation.
  Result<void> call();
  // Returns an error if an answer is wrong: a key was not found, or a value has a wrong length or
  // (with dataintegrity) wrong bytes. The measured time must not include check().
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
  std::vector<std::string> values_;  // the values to write, or the values that were read
};

}  // namespace hat::ycsb
