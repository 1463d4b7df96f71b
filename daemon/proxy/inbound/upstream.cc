// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/upstream.h"

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <string>

#include "daemon/proxy/inbound/accepted_link.h"
#include "daemon/proxy/inbound/pooled_call.h"
#include "daemon/proxy/worker.h"

namespace hat {

UpstreamConnection::UpstreamConnection(Worker& worker, std::shared_ptr<const Served> served,
                                       int32_t first_id)
    : worker_(worker),
      served_(std::move(served)),
      next_id_(first_id),
      stream_(connect()),
      bulk_(worker.counters().rdma.zero_copy_bytes) {
  worker_.counters().upstream.connects.add();
  worker_.counters().upstream.open.add();
  out_.await_writable(*stream_);
}

UpstreamConnection::UpstreamConnection(Worker& worker, std::shared_ptr<const Served> served,
                                       DetachedConnection connection)
    : worker_(worker),
      served_(std::move(served)),
      oneways_(std::move(connection.oneways)),
      next_id_(kFirstId),
      output_(Output::kOpen),
      carried_(connection.unchecked ? Carried::kUnchecked : Carried::kChecked),
      stream_(worker.reactor().resume(std::move(connection.descriptors), *this)),
      bulk_(worker.counters().rdma.zero_copy_bytes) {
  worker_.counters().upstream.open.add();
}

// Connects to the server over its ring, if it has one and listens there, and otherwise to the first
// address of `upstream`.
std::unique_ptr<ByteStream> UpstreamConnection::connect() {
  if (const auto& ring = served_->config.ring) {
    int error = 0;
    if (auto stream = worker_.reactor().try_connect(*ring, *this, error)) return stream;
    if (worker_.upstreams().may_warn_of_ring(*served_)) {
      LOG(WARNING) << "serves." << served_->config.service << ": no connection to "
                   << to_string(*ring) << ": " << std::strerror(error) << "; connections use "
                   << upstream_text(served_->config) << " until the server listens at the ring";
    }
  }
  return connect_to_next();
}

const Address* UpstreamConnection::next_address() const {
  return worker_.upstreams().addresses(*served_).choose(served_->config, tried_,
                                                        worker_.reactor().now());
}

std::unique_ptr<ByteStream> UpstreamConnection::connect_to_next() {
  const Address* next = next_address();
  if (next == nullptr) return worker_.reactor().connect(served_->config.upstream, *this);
  if (user_ != nullptr) count_use(false);
  tried_.push_back(*next);
  if (user_ != nullptr) count_use(true);
  ejections().note_use(to_string(*next), worker_.reactor().now());
  if (served_->config.addresses.size() > 1) worker_.deadlines().set(*this, kSlowConnect);
  return worker_.reactor().connect(*next, *this);
}

// Handles an address that has not accepted the connection for kSlowConnect. If there is no
// other one, the connection still waits for this one.
void UpstreamConnection::on_deadline() {
  eject_address("no answer");
  try_next_address();
}

void UpstreamConnection::on_accepted() {
  end();
  ejections().note_success(to_string(tried_.back()));
}

// Makes later connections prefer the server's other addresses for a while.
void UpstreamConnection::eject_address(const std::string& reason) {
  const std::string address = to_string(tried_.back());
  const Duration time = ejections().eject(address, worker_.reactor().now());
  if (time != Duration::zero()) worker_.counters().upstream.ejections.add();
  if (time != Ejections::kFirst) return;
  LOG(INFO) << "serves." << served_->config.service << ": no connection to " << address << ": "
            << reason << "; connections prefer other addresses for a while";
}

bool UpstreamConnection::is_at_current_address() const {
  const std::vector<Address>& addresses = served_->config.addresses;
  return addresses.empty() || tried_.empty() ||
         std::ranges::find(addresses, tried_.back()) != addresses.end();
}

Ejections& UpstreamConnection::ejections() {
  return worker_.upstreams().addresses(*served_).ejections();
}

// Counts this connection, which a user uses, at its address, or no longer.
void UpstreamConnection::count_use(bool begins) {
  if (tried_.empty()) return;  // a ring, a numeric upstream, or a connection that was detached
  ServerAddresses& addresses = worker_.upstreams().addresses(*served_);
  begins ? addresses.begin_use(tried_.back()) : addresses.end_use(tried_.back());
}

UpstreamConnection::~UpstreamConnection() {
  if (user_ != nullptr) count_use(false);
  worker_.counters().upstream.open.sub();
  buffered(-static_cast<int64_t>(out_.size()));
}

void UpstreamConnection::buffered(int64_t change) {
  if (user_ == nullptr) return worker_.buffered(change);
  worker_.buffered(change, user_->share());
}

void UpstreamConnection::set_user(UpstreamUser* user) {
  buffered(-static_cast<int64_t>(out_.size()));
  if ((user_ == nullptr) != (user == nullptr)) count_use(user != nullptr);
  user_ = user;
  buffered(static_cast<int64_t>(out_.size()));
  if (user == nullptr) want_read(true);  // an idle connection is read to notice that it has ended
}

void UpstreamConnection::note_oneway(uint64_t name) {
  constexpr size_t kNamesMax = 32;  // enough, because a service has few oneway functions
  if (passed_oneway(name)) return;
  if (oneways_.size() == kNamesMax) oneways_.erase(oneways_.begin());
  oneways_.push_back(name);
}

int32_t UpstreamConnection::next_id() {
  const int32_t id = next_id_;
  next_id_ = id == std::numeric_limits<int32_t>::max() ? kFirstId : id + 1;
  return id;
}

void UpstreamConnection::note_oneway_id(int32_t id) {
  constexpr size_t kIdsMax = 32;  // the newest ids are enough, because a server answers in order
  if (oneway_ids_.size() == kIdsMax) oneway_ids_.erase(oneway_ids_.begin());
  oneway_ids_.push_back(id);
}

std::optional<DetachedConnection> UpstreamConnection::duplicate() const {
  if (!connected() || !takes_all() || drops_reply() || replies_.opaque() ||
      replies_.inside_unit()) {
    return std::nullopt;
  }
  DetachedConnection connection;
  connection.oneways = oneways_;
  connection.unchecked = carried_unchecked();
  connection.descriptors = duplicates_of(stream_->descriptors());
  if (connection.descriptors.empty()) return std::nullopt;
  return connection;
}

void UpstreamConnection::abandon() {
  want_read(false);
  stream_->want_write(false);
  stream_->shortage(0);  // cancels on_half_free()
  dead_ = true;
}

void UpstreamConnection::change_to(Input next) {
  DCHECK(input_ != Input::kEnded) << "the server's end is the last that is read";
  input_ = next;
}

void UpstreamConnection::change_to(Output next) {
  DCHECK(output_ < next) << "the way to the server only advances";
  output_ = next;
}

void UpstreamConnection::want_read(bool wanted) {
  if (input_ == Input::kEnded || dead_ || wanted == (input_ == Input::kReading)) return;
  change_to(wanted ? Input::kReading : Input::kPaused);
  stream_->want_read(wanted);
}

void UpstreamConnection::write(Bytes bytes, Bytes more) {
  if (dead_) return;
  if (output_ == Output::kFailed) {
    return user_->on_upstream_wrote(bytes.size() + more.size());
  }
  if (!connected()) out_.await_writable(*stream_);  // on_writable() reports that it is connected
  const size_t before = out_.size();
  // An error is not reported here, because the user's on_upstream_broke() must not run inside
  // write(). on_writable() runs after an error and reports the error.
  const auto written = out_.write(*stream_, bytes, more);
  buffered(static_cast<int64_t>(out_.size()) - static_cast<int64_t>(before));
  if (written.bytes != 0) user_->on_upstream_wrote(written.bytes);
}

void UpstreamConnection::end_writes() {
  if (std::exchange(end_wanted_, true)) return;
  if (passes_at_once()) stream_->shutdown_write();
}

void UpstreamConnection::on_writable() {
  const auto written = out_.on_writable(*stream_);
  if (set() && written.error == 0) on_accepted();
  buffered(-static_cast<int64_t>(written.bytes));
  if (written.bytes != 0) {
    if (!connected()) {
      change_to(Output::kOpen);
      if (user_ != nullptr) user_->on_upstream_connected();
    }
    if (user_ != nullptr) user_->on_upstream_wrote(written.bytes);
    if (dead_) return;
  }
  if (written.error != 0) return on_write_error(written.error);
  if (out_.empty() && end_wanted_) stream_->shutdown_write();
}

// Handles a failed write. The bytes that the server has sent are still read, because they can be
// the reply to a request of which the server has read only a part.
void UpstreamConnection::on_write_error(int error) {
  if (!connected() || input_ == Input::kEnded) return broke(std::strerror(error));
  change_to(Output::kFailed);
  write_error_ = error;
  const size_t lost = out_.size();
  buffered(-static_cast<int64_t>(lost));
  out_.discard(*stream_);
  if (input_ == Input::kReading) stream_->read_again();
  if (user_ != nullptr) user_->on_upstream_wrote(lost);
}

bool UpstreamConnection::read_now() { return input_ == Input::kReading && !dead_ && read_once(); }

// Returns true if bytes were read.
bool UpstreamConnection::read_once() {
  const size_t budget = user_ == nullptr ? worker_.scratch().size() : user_->read_budget();
  if (budget == 0) {
    want_read(false);
    return false;
  }
  if (user_ != nullptr && bulk_.pass(*stream_, replies_.messages().unexamined(), budget,
                                     [this](Bytes bulk) { user_->on_upstream_bytes(bulk); })) {
    return true;
  }
  const auto space = worker_.scratch().first(BulkSender::bytes_to_copy(*stream_, replies_, budget));
  const IoResult result = stream_->read(space);
  switch (result.kind) {
    case IoResult::Kind::kOk:
      take(space.first(result.bytes), result.bytes < space.size());
      return true;
    case IoResult::Kind::kWouldBlock:
      if (output_ == Output::kFailed) broke(std::strerror(write_error_));
      break;
    case IoResult::Kind::kEnd:
      stream_->want_read(false);
      change_to(Input::kEnded);
      user_ != nullptr ? user_->on_upstream_end() : broke("closed by the server");
      break;
    case IoResult::Kind::kError:
      broke(std::strerror(result.error));
  }
  return false;
}

// Passes on bytes that were read. `all` is true if no more bytes can be read now.
void UpstreamConnection::take(Bytes bytes, bool all) {
  may_try_next_ = false;
  // Bytes on an idle connection answer no call. The connection is closed, because a later call
  // could take these bytes for its reply.
  if (user_ == nullptr) return broke("unexpected bytes");
  user_->on_upstream_bytes(bytes);
  if (all && replies_.waits_for_rest()) stream_->acknowledge_now();
  if (output_ == Output::kFailed && input_ == Input::kReading && !dead_) stream_->read_again();
}

bool UpstreamConnection::send_zero_copy(AcceptedLink& link, const InboundLane& lane,
                                        const engine::FrameHeader& header, Bytes part) {
  if (lane.rdma == nullptr) return false;
  return bulk_.send(*stream_, {*lane.rdma, lane.number, link.link_memory(), link.borrowed_ranges()},
                    header, part);
}

// Connects to the next address of the server's host, if the connection is not made yet. Returns
// false if there is none. No byte is lost: those that wait have not been written.
bool UpstreamConnection::try_next_address() {
  if (connected() || !may_try_next_ || input_ == Input::kEnded || next_address() == nullptr) {
    return false;
  }
  stream_ = connect_to_next();
  out_.continue_on(*stream_);
  stream_->want_read(input_ == Input::kReading);
  return true;
}

void UpstreamConnection::broke(const std::string& reason) {
  if (dead_) return;
  if (set()) {  // no address has accepted the connection
    end();
    eject_address(reason);
  }
  if (try_next_address()) return;
  dead_ = true;
  stream_->want_read(false);
  stream_->want_write(false);
  if (user_ != nullptr) {
    const std::string& unknown = served_->config.why_unknown;
    user_->on_upstream_broke(connected() || unknown.empty() ? reason : unknown);
  } else {
    worker_.upstreams().on_idle_broke(*this);
  }
}

// --- Connections that one stream has alone ---

std::unique_ptr<UpstreamConnection> UpstreamPool::open(
    const std::shared_ptr<const Served>& served) {
  const bool mirrored = served->config.mode == UpstreamMode::kMirror;
  const size_t most =
      mirrored && served->config.connections_max != 0 ? served->config.connections_max : kOwnMax;
  size_t& own = of(*served).own;
  if (own >= most) return nullptr;
  ++own;
  return std::make_unique<UpstreamConnection>(worker_, served, UpstreamConnection::kFirstId);
}

std::unique_ptr<UpstreamConnection> UpstreamPool::adopt(const std::shared_ptr<const Served>& served,
                                                        DetachedConnection connection) {
  ++of(*served).own;
  return std::make_unique<UpstreamConnection>(worker_, served, std::move(connection));
}

std::unique_ptr<UpstreamConnection> UpstreamPool::keep(PooledCall& call) {
  Service& service = of(*call.served());
  if (service.own >= kOwnMax) return nullptr;
  service.parked.remove(&call);
  forget_shared(service);
  ++service.own;
  auto connection = call.give_up();
  // No call is in flight, so a reply that has begun to arrive answers a oneway call.
  if (connection->replies().inside_unit()) connection->drop_reply();
  serve_waiting(call.served());
  return connection;
}

void UpstreamPool::close(std::unique_ptr<UpstreamConnection> connection) {
  forget_own(of(*connection->served()));
  worker_.defer_delete(std::move(connection));
}

bool UpstreamPool::may_warn_of_ring(const Served& served) {
  Service& service = of(served);
  const TimePoint now = worker_.reactor().now();
  if (now < service.warns_from) return false;
  service.warns_from = now + std::chrono::minutes(1);
  return true;
}

void UpstreamPool::forget_own(Service& service) {
  DCHECK_GT(service.own, 0u) << "the pool did not open this connection";
  --service.own;
}

// --- Shared connections ---

size_t UpstreamPool::shared_max(const ServedConfig& served) {
  constexpr size_t kSharedByDefault = 16;
  return served.connections_max != 0 ? served.connections_max : kSharedByDefault;
}

void UpstreamPool::forget_shared(Service& service) {
  DCHECK_GT(service.shared, 0u) << "the pool did not open this connection";
  --service.shared;
  service.check();
}

// Returns an idle connection, a new connection, or the connection of a parked call that can give up
// its connection. Returns null if there is no such connection.
std::unique_ptr<UpstreamConnection> UpstreamPool::find_shared(
    const std::shared_ptr<const Served>& served) {
  Service& service = of(*served);
  if (auto connection = take_idle(served)) return connection;
  DCHECK_LE(service.shared, shared_max(served->config));
  if (service.shared < shared_max(served->config)) {
    ++service.shared;
    std::uniform_int_distribution<int32_t> ids(UpstreamConnection::kFirstId);
    return std::make_unique<UpstreamConnection>(worker_, served, ids(random_));
  }
  const auto giver = std::ranges::find_if(service.parked, [](const PooledCall* call) {
    return call->can_give_up() && call->connection_is_current();
  });
  if (giver == service.parked.end()) return nullptr;
  PooledCall* const holder = *giver;
  service.parked.erase(giver);
  return holder->give_up();
}

// Returns the idle connection for a call: of one server, that used last; of several servers, one to
// the server whose turn it is. If there is none to that server, returns null if a new connection
// can be made, for which it may close an idle one; otherwise returns an idle one to another server.
std::unique_ptr<UpstreamConnection> UpstreamPool::take_idle(
    const std::shared_ptr<const Served>& served) {
  Service& service = of(*served);
  if (service.idle.empty()) return nullptr;
  auto taken = std::prev(service.idle.end());
  const TimePoint now = worker_.reactor().now();
  const Address* next = served->config.kind == NameKind::kAddress
                            ? nullptr
                            : service.addresses.choose(served->config, {}, now);
  if (next != nullptr) {
    const auto used = [&](const auto& one) {
      return one->address() == nullptr ? 0 : service.addresses.used(*one->address());
    };
    const auto there = std::ranges::find_if(service.idle, [&](const auto& one) {
      return one->address() != nullptr && *one->address() == *next;
    });
    if (there != service.idle.end()) {
      taken = there;
    } else if (!service.addresses.ejections().avoids(to_string(*next), now)) {
      if (service.shared < shared_max(served->config)) return nullptr;
      taken = std::ranges::min_element(service.idle, {}, used);
      if (service.addresses.used(*next) < used(*taken)) {
        worker_.defer_delete(std::move(*taken));
        service.idle.erase(taken);
        forget_shared(service);
        return nullptr;
      }
    }
  }
  auto connection = std::move(*taken);
  service.idle.erase(taken);
  return connection;
}

std::unique_ptr<UpstreamConnection> UpstreamPool::acquire(
    const std::shared_ptr<const Served>& served, PooledCall& call, Priority priority) {
  auto connection = find_shared(served);
  if (!connection) of(*served).waiting.add(call, priority);
  return connection;
}

void UpstreamPool::take_back(std::unique_ptr<UpstreamConnection> connection, bool reusable) {
  const std::shared_ptr<const Served> served = connection->served();
  Service& service = of(*served);
  if (reusable && served->is_current && connection->is_at_current_address() &&
      connection->takes_all() && !connection->replies().opaque() &&
      !connection->replies().inside_unit()) {
    service.idle.push_back(std::move(connection));
    service.check();
  } else {
    forget_shared(service);
    worker_.defer_delete(std::move(connection));
  }
  serve_waiting(served);
}

void UpstreamPool::serve_waiting(const std::shared_ptr<const Served>& served) {
  Service& service = of(*served);
  // A oneway call frees its connection from within on_turn(), which calls this function again. The
  // inner call returns at once, and the loop of the outer call serves the next waiting call.
  if (std::exchange(service.serving, true)) return;
  while (!service.waiting.empty()) {
    auto connection = find_shared(served);
    if (!connection) break;
    service.waiting.take_next().on_turn(std::move(connection));
  }
  service.serving = false;
}

void UpstreamPool::park(PooledCall& call) {
  of(*call.served()).parked.push_back(&call);
  of(*call.served()).check();
  serve_waiting(call.served());
}

void UpstreamPool::unpark(PooledCall& call) { of(*call.served()).parked.remove(&call); }

void UpstreamPool::forget(PooledCall& call) { of(*call.served()).waiting.remove(call); }

void UpstreamPool::retire(const Served& served) {
  Service& service = of(served);
  for (auto& connection : std::exchange(service.idle, {})) {
    if (served.is_current && connection->is_at_current_address()) {
      service.idle.push_back(std::move(connection));
      continue;
    }
    forget_shared(service);
    worker_.defer_delete(std::move(connection));
  }
}

void UpstreamPool::on_idle_broke(UpstreamConnection& connection) {
  Service& service = of(*connection.served());
  for (auto it = service.idle.begin(); it != service.idle.end(); ++it) {
    if (it->get() != &connection) continue;
    worker_.defer_delete(std::move(*it));
    service.idle.erase(it);
    forget_shared(service);
    return;
  }
}

}  // namespace hat
