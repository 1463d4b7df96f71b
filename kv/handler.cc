// kv/handler.cc: turns the store's results into HatKV's answers.
#include "kv/handler.h"

#include <utility>

namespace hat {
namespace {

template <class T>
T value_or_refuse(Result<T> result) {
  if (result) return std::move(*result);
  hatkv::Refused refused;
  refused.reason = std::move(result.error().message);
  throw refused;
}

void refuse_if_failed(const Result<void>& result) {
  if (result) return;
  hatkv::Refused refused;
  refused.reason = result.error().message;
  throw refused;
}

}  // namespace

void KvHandler::get(std::string& value, const std::string& key) {
  std::optional<std::string> found = value_or_refuse(store_.get(key));
  if (!found) {
    hatkv::NotFound missing;
    missing.key = key;
    throw missing;
  }
  value = std::move(*found);
}

void KvHandler::put(const std::string& key, const std::string& value) {
  refuse_if_failed(store_.put(key, value));
}

void KvHandler::multiget(std::vector<hatkv::Lookup>& found, const std::vector<std::string>& keys) {
  for (std::optional<std::string>& value : value_or_refuse(store_.multiget(keys))) {
    hatkv::Lookup& lookup = found.emplace_back();
    lookup.found = value.has_value();
    if (value) lookup.value = std::move(*value);
  }
}

void KvHandler::multiput(const std::vector<hatkv::Pair>& pairs) {
  std::vector<Store::Entry> entries;
  entries.reserve(pairs.size());
  for (const hatkv::Pair& pair : pairs) entries.push_back({pair.key, pair.value});
  refuse_if_failed(store_.multiput(entries));
}

bool KvHandler::remove(const std::string& key) { return value_or_refuse(store_.remove(key)); }

}  // namespace hat
