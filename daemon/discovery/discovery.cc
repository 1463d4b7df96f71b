// SPDX-License-Identifier: Apache-2.0
#include "daemon/discovery/discovery.h"

#include <glog/logging.h>

#include <algorithm>

namespace hat {
namespace {

std::string list_text(const std::vector<Address>& addresses) {
  constexpr size_t kListedMax = 8;
  std::string text;
  for (size_t i = 0; i < std::min(addresses.size(), kListedMax); ++i) {
    text += (i == 0 ? "" : ", ") + to_string(addresses[i]);
  }
  if (addresses.size() <= kListedMax) return text;
  return text + " and " + std::to_string(addresses.size() - kListedMax) + " more addresses";
}

}  // namespace

void Discovery::watch(const std::vector<Lookup>& names) {
  std::map<Lookup, Entry> next;
  for (const Lookup& name : names) {
    const auto known = names_.find(name);
    next.try_emplace(name, known == names_.end() ? Entry{} : known->second);
  }
  names_ = std::move(next);
}

void Discovery::refresh(TimePoint now) {
  now_ = now;
  // The list is copied, because an answer can come before look_up() returns.
  std::vector<std::pair<Lookup, uint64_t>> due;
  for (auto& [name, entry] : names_) {
    if (entry.running != 0 || entry.next > now) continue;
    entry.running = ++lookups_;
    due.emplace_back(name, entry.running);
  }
  for (const auto& [name, number] : due) {
    resolver_->look_up(name, [this, name, number](Result<Resolved> answer) {
      take(name, number, std::move(answer));
    });
  }
}

void Discovery::take(const Lookup& lookup, uint64_t number, Result<Resolved> answer) {
  const auto found = names_.find(lookup);
  if (found == names_.end() || found->second.running != number) return;  // no longer watched
  Entry& entry = found->second;
  Name& name = entry.name;
  entry.running = 0;
  if (!answer) return note_failure(entry, answer.error().message);
  const size_t all = answer->addresses.size();
  answer->addresses.resize(std::min(all, kAddressesMax));
  if (name.addresses != answer->addresses) {
    LOG_IF(WARNING, all > kAddressesMax)
        << "discovery: '" << lookup.name << "' has " << all << " addresses; only the first "
        << kAddressesMax << " are used";
    LOG(INFO) << "discovery: '" << lookup.name << "' is at " << list_text(answer->addresses);
    changed_ = true;
  }
  name.addresses = std::move(answer->addresses);
  name.error.clear();
  ++name.answers;
  entry.next = now_ + std::clamp(answer->ttl, kTtlMin, kTtlMax);
  entry.pause = kRetryMin;
}

void Discovery::note_failure(Entry& entry, const std::string& error) {
  Name& name = entry.name;
  if (name.error != error) {
    LOG(WARNING) << "discovery: " << error
                 << (name.addresses.empty() ? "" : "; the last good answer stays in use");
    changed_ |= name.addresses.empty();
  }
  name.error = error;
  ++name.failures;
  entry.next = now_ + entry.pause;
  entry.pause = std::min(2 * entry.pause, kRetryMax);
}

void Discovery::wait_for_first_answers(std::chrono::nanoseconds longest) {
  using std::chrono::ceil;
  using std::chrono::milliseconds;
  const auto now = [] { return std::chrono::steady_clock::now(); };
  refresh(now());
  const TimePoint until = now() + longest;
  for (auto left = longest; !all_tried() && left.count() > 0; left = until - now()) {
    resolver_->wait(ceil<milliseconds>(left));
  }
}

bool Discovery::all_tried() const {
  return std::ranges::all_of(names_, [](const auto& one) {
    return one.second.name.answers + one.second.name.failures != 0;
  });
}

std::vector<std::pair<Lookup, Discovery::Name>> Discovery::all() const {
  std::vector<std::pair<Lookup, Name>> all;
  for (const auto& [lookup, entry] : names_) all.emplace_back(lookup, entry.name);
  return all;
}

}  // namespace hat
