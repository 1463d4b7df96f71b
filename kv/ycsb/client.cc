// SPDX-License-Identifier: Apache-2.0
#include "kv/ycsb/client.h"

#include "HatKV.h"
#include "kv/ycsb/record.h"

namespace hat::ycsb {

Client::Client(const Workload& workload, const KeyChooser& keys, Address address, uint64_t seed)
    : workload_(workload), key_chooser_(keys), connection_(std::move(address)), random_(seed) {}
Client::~Client() = default;

void Client::prepare(Operation operation, int64_t record) {
  operation_ = operation;
  size_t count = 1;
  if (operation == Operation::kMultiRead) count = workload_.multi_read_batch;
  if (operation == Operation::kMultiUpdate) count = workload_.multi_update_batch;
  keys_.resize(count);
  values_.assign(count, {});
  for (size_t i = 0; i < count; ++i) {
    const bool insert = operation == Operation::kInsert;
    keys_[i] = key_of(workload_, insert ? record : key_chooser_.next(random_));
    const bool update = operation == Operation::kUpdate || operation == Operation::kMultiUpdate;
    if (insert || (update && workload_.write_all_fields)) {
      values_[i] = make_value(workload_, keys_[i], random_);
    }
  }
}

Result<void> Client::call() {
  switch (operation_) {
    case Operation::kRead:
      return connection_.get(keys_[0], values_[0]);
    case Operation::kInsert:
      return connection_.put(keys_[0], values_[0]);
    case Operation::kUpdate:
      return update();
    case Operation::kMultiRead:
      return multi_read();
    case Operation::kMultiUpdate:
      return multi_update();
  }
  return {};
}

Result<void> Client::check() const {
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (!is_right(workload_, keys_[i], values_[i])) {
      return fail(ErrorCode::kProtocol,
                  std::string(operation_name(operation_)) + ": the value of " + keys_[i] +
                      " is not the value that was written: " + std::to_string(values_[i].size()) +
                      " bytes");
    }
  }
  return {};
}

Result<void> Client::multi_read() {
  std::vector<hatkv::Lookup> found;
  HAT_TRY_VOID(connection_.multiget(keys_, found));
  if (found.size() != keys_.size()) {
    return fail(ErrorCode::kProtocol, "multiget: " + std::to_string(found.size()) +
                                          " values returned for " + std::to_string(keys_.size()) +
                                          " keys");
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i].found) {
      return fail(ErrorCode::kNotFound,
                  "multiget: " + keys_[i] + " is not in the store; was it loaded?");
    }
    values_[i] = std::move(found[i].value);
  }
  return {};
}

Result<void> Client::update() {
  if (!workload_.write_all_fields) {
    HAT_TRY_VOID(connection_.get(keys_[0], values_[0]));
    HAT_TRY_VOID(check());
    change_field(workload_, keys_[0], random_, values_[0]);
  }
  return connection_.put(keys_[0], values_[0]);
}

Result<void> Client::multi_update() {
  if (!workload_.write_all_fields) {
    HAT_TRY_VOID(multi_read());
    HAT_TRY_VOID(check());
    for (size_t i = 0; i < keys_.size(); ++i) {
      change_field(workload_, keys_[i], random_, values_[i]);
    }
  }
  std::vector<hatkv::Pair> pairs(keys_.size());
  for (size_t i = 0; i < keys_.size(); ++i) {
    pairs[i].key = keys_[i];
    pairs[i].value = values_[i];
  }
  return connection_.multiput(pairs);
}

}  // namespace hat::ycsb
