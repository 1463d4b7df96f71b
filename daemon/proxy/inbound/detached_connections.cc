// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/detached_connections.h"

#include <glog/logging.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "daemon/proxy/successor.h"

namespace hat {
namespace {

// Writes each number as 8 bytes, each text after its length, and each list after its count.
class Writer {
 public:
  void number(uint64_t value) { append(&value, sizeof value); }
  void text(std::string_view value) {
    number(value.size());
    append(value.data(), value.size());
  }
  void append(const void* data, size_t bytes) {
    const auto* from = static_cast<const std::byte*>(data);
    out.insert(out.end(), from, from + bytes);
  }

  std::vector<std::byte> out;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  uint64_t number() {
    uint64_t value = 0;
    take(&value, sizeof value);
    return value;
  }
  std::string text() {
    const uint64_t size = number();
    if (size > rest_.size()) return fail_here(), "";
    std::string value(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
    return value;
  }
  // Reads and returns the number of items of a list. Fails if the remaining bytes cannot have as
  // many items, which take at least 8 bytes each.
  size_t count() {
    const uint64_t value = number();
    if (value > rest_.size() / sizeof(uint64_t)) return fail_here(), 0;
    return value;
  }
  void take(void* into, size_t bytes) {
    if (bytes > rest_.size()) return fail_here();
    std::memcpy(into, rest_.data(), bytes);
    rest_ = rest_.subspan(bytes);
  }
  bool empty() const { return rest_.empty(); }
  bool whole() const { return ok_ && rest_.empty(); }

 private:
  void fail_here() {
    ok_ = false;
    rest_ = {};
  }

  std::span<const std::byte> rest_;
  bool ok_ = true;
};

bool have_one_in_common(std::span<const std::string> a, std::span<const std::string> b) {
  return std::ranges::find_first_of(a, b) != a.end();
}

}  // namespace

std::vector<std::byte> encode(const DetachedConnection& connection) {
  Writer writer;
  writer.append(connection.token.data(), connection.token.size());
  writer.text(connection.service);
  writer.text(connection.server);
  writer.text(connection.peer);
  writer.number(connection.peer_names.size());
  for (const std::string& name : connection.peer_names) writer.text(name);
  writer.number(connection.oneways.size());
  for (const uint64_t hash : connection.oneways) writer.number(hash);
  writer.number(connection.unchecked);
  return std::move(writer.out);
}

Result<DetachedConnection> decode_detached(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  DetachedConnection connection;
  reader.take(connection.token.data(), connection.token.size());
  connection.service = reader.text();
  connection.server = reader.text();
  connection.peer = reader.text();
  for (size_t i = reader.count(); i != 0; --i) connection.peer_names.push_back(reader.text());
  for (size_t i = reader.count(); i != 0; --i) connection.oneways.push_back(reader.number());
  if (!reader.empty()) connection.unchecked = reader.number() != 0;  // older builds do not send it
  if (!reader.whole())
    return fail(ErrorCode::kProtocol, "the description of a server's connection is malformed");
  return connection;
}

bool DetachedConnections::add(DetachedConnection connection, TimePoint now) {
  const auto of_peer = std::ranges::count_if(
      kept_, [&](const auto& entry) { return entry.second.connection.peer == connection.peer; });
  if (kept_.size() >= kConnectionsMax || of_peer >= std::ptrdiff_t{kConnectionsOfPeerMax}) {
    return false;
  }
  const auto token = connection.token;
  const bool is_new = kept_.emplace(token, Kept{std::move(connection), now + kKeepTime}).second;
  DCHECK_LE(kept_.size(), kConnectionsMax);
  return is_new;
}

std::optional<engine::ConnectionToken> DetachedConnections::keep(DetachedConnection connection,
                                                                 TimePoint now) {
  engine::ConnectionToken token;
  if (getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
    PLOG(ERROR) << "getrandom";
    return std::nullopt;
  }
  connection.token = token;
  const std::lock_guard lock(mutex_);
  if (!add(std::move(connection), now)) return std::nullopt;
  return token;
}

bool DetachedConnections::adopt(DetachedConnection connection, TimePoint now) {
  const std::lock_guard lock(mutex_);
  return add(std::move(connection), now);
}

std::optional<DetachedConnection> DetachedConnections::claim(
    const engine::ConnectionToken& token, const std::string& peer,
    std::span<const std::string> peer_names) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(token);
  if (found == kept_.end()) return std::nullopt;
  const DetachedConnection& kept = found->second.connection;
  DCHECK(kept.token == token) << "kept under the token of another connection";
  const bool same = kept.peer == peer &&
                    (kept.peer_names.empty() ? peer_names.empty()
                                             : have_one_in_common(kept.peer_names, peer_names));
  if (!same) return std::nullopt;
  std::optional<DetachedConnection> claimed(std::move(found->second.connection));
  kept_.erase(found);
  return claimed;
}

void DetachedConnections::give_to(std::shared_ptr<Successor> successor) {
  const std::lock_guard lock(mutex_);
  successor_ = std::move(successor);
}

// Sends connections to the successor while its channel has space. The caller must hold `mutex_`.
void DetachedConnections::send() {
  while (successor_ && !kept_.empty()) {
    switch (successor_->take_server(kept_.begin()->second.connection)) {
      case Successor::Answer::kLater:
        return;
      case Successor::Answer::kTaken:
      case Successor::Answer::kNever:  // closed: no stream of this process can claim the connection
        kept_.erase(kept_.begin());
        break;
    }
  }
}

void DetachedConnections::sweep(TimePoint now) {
  const std::lock_guard lock(mutex_);
  send();
  std::erase_if(kept_, [&](const auto& entry) { return now >= entry.second.until; });
}

bool DetachedConnections::has_more_to_give() const {
  const std::lock_guard lock(mutex_);
  return successor_ && !kept_.empty();
}

size_t DetachedConnections::size() const {
  const std::lock_guard lock(mutex_);
  return kept_.size();
}

}  // namespace hat
