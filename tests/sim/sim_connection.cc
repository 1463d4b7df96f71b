// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/sim_connection.h"

#include <glog/logging.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/sim/sim_reactor.h"

namespace hat::sim {

SimConnection::SimConnection(SimNetwork& network, const Path& path, uint64_t entity,
                             SimHost& client, Random random)
    : network_(network), path_(path), entity_(entity), random_(random) {
  ends_[kClient].host = &client;
  ends_[kServer].closed = true;  // until establish() opens the server's end
}

// --- Connecting ---

void SimConnection::begin(bool lost) {
  constexpr Duration kKernelGivesUp = std::chrono::seconds(127);
  const auto self = shared_from_this();
  if (lost) {
    return network_.at(network_.now() + kKernelGivesUp, entity_,
                       [self] { self->fail(kClient, ETIMEDOUT); });
  }
  network_.at(network_.now() + latency(), entity_, [self] {
    SimHost* server = self->network_.listeners_[self->address].host;
    if (server != nullptr) return self->establish(*server);
    self->network_.at(self->network_.now() + self->latency(), self->entity_,
                      [self] { self->fail(kClient, ECONNREFUSED); });
  });
}

// Establishes the connection before the server's process accepts it, as a kernel does. The client
// can send before the process has called accept().
void SimConnection::establish(SimHost& server) {
  if (ends_[kClient].closed) return;
  ends_[kServer].host = &server;
  ends_[kServer].established = true;
  ends_[kServer].closed = false;
  const auto self = shared_from_this();
  network_.at(network_.now() + latency(), entity_, [self] {
    End& client = self->ends_[kClient];
    client.established = true;
    if (client.closed) return self->send(kServer, {Item::Kind::kReset, {}});
    if (client.stream != nullptr) client.host->wake();
  });
  server.post([self] {
    const auto& listener = self->network_.listeners_[self->address];
    if (listener.host == nullptr) return self->close(kServer, true);
    self->accept(listener.on_connection);
  });
}

void SimConnection::accept(const SimNetwork::OnConnection& on_connection) {
  bool taken = false;
  on_connection([&](StreamEvents& events) -> std::unique_ptr<ByteStream> {
    taken = true;
    return std::make_unique<SimStream>(*ends_[kServer].host, shared_from_this(), kServer, events);
  });
  if (!taken) close(kServer, false);
}

void SimConnection::fail(Side side, int error) {
  End& end = ends_[side];
  if (end.error == 0) end.error = error;
  if (end.stream != nullptr) end.host->wake();
}

// --- Bytes ---

bool SimConnection::readable(Side side) const {
  const End& end = ends_[side];
  return !end.received.empty() || end.end_received || end.error != 0;
}

bool SimConnection::writable(Side side) const {
  const End& end = ends_[side];
  return end.error != 0 || (end.established && end.unread < path_.window_bytes);
}

IoResult SimConnection::read(Side side, std::span<std::byte> into) {
  End& end = ends_[side];
  if (end.received.empty()) {
    if (end.error != 0) return {IoResult::Kind::kError, 0, end.error};
    return {end.end_received ? IoResult::Kind::kEnd : IoResult::Kind::kWouldBlock};
  }
  size_t count = std::min(into.size(), end.received.size());
  if (random_.percent(path_.short_percent)) count = random_.between(1, count);
  std::memcpy(into.data(), end.received.bytes().data(), count);
  end.received.consume(count);
  const auto self = shared_from_this();
  const Side writer = other(side);
  network_.at(network_.now() + path_.latency_min, entity_, [self, writer, count] {
    End& far = self->ends_[writer];
    far.unread -= count;
    if (far.stream != nullptr) far.host->wake();
  });
  return {IoResult::Kind::kOk, count};
}

IoResult SimConnection::write(Side side, std::span<const iovec> from) {
  End& end = ends_[side];
  if (end.error != 0) return {IoResult::Kind::kError, 0, end.error};
  if (!end.established) return {IoResult::Kind::kWouldBlock};
  if (end.end_sent) return {IoResult::Kind::kError, 0, EPIPE};
  size_t space = path_.window_bytes - std::min(path_.window_bytes, end.unread);
  if (space == 0) return {IoResult::Kind::kWouldBlock};
  std::string bytes;
  for (const iovec& piece : from) {
    const size_t count = std::min(piece.iov_len, space - bytes.size());
    bytes.append(static_cast<const char*>(piece.iov_base), count);
  }
  if (random_.percent(path_.short_percent)) bytes.resize(random_.between(1, bytes.size()));
  end.unread += bytes.size();
  const size_t written = bytes.size();
  for (int cuts = 0; cuts < 3 && bytes.size() > 1 && random_.percent(path_.split_percent); ++cuts) {
    const size_t count = random_.log_between(1, bytes.size() - 1);
    send(other(side), {Item::Kind::kData, bytes.substr(0, count)});
    bytes.erase(0, count);
  }
  send(other(side), {Item::Kind::kData, std::move(bytes)});
  return {IoResult::Kind::kOk, written};
}

void SimConnection::send(Side to, Item item) {
  End& end = ends_[to];
  if (cut_) return;
  end.incoming.push_back(std::move(item));
  const TimePoint arrival = network_.now() + latency();
  end.last_arrival = std::max({end.last_arrival, arrival, stalled_until_});
  const auto self = shared_from_this();
  network_.at(end.last_arrival, entity_, [self, to] { self->deliver(to); });
}

// Delivers the oldest item in flight to the end `to`. send() schedules one call of deliver() for
// each item. After items were lost in flight, the last calls find no item.
void SimConnection::deliver(Side to) {
  End& end = ends_[to];
  if (end.incoming.empty()) return;
  Item item = std::move(end.incoming.front());
  end.incoming.pop_front();
  if (item.kind == Item::Kind::kReset) return fail(to, ECONNRESET);
  if (end.closed) {  // no process has this end open: its kernel answers data with an RST
    if (item.kind == Item::Kind::kData) send(other(to), {Item::Kind::kReset, {}});
    return;
  }
  if (end.error != 0) return;
  if (item.kind == Item::Kind::kEnd) {
    end.end_received = true;
  } else if (to == kClient && std::exchange(lose_next_, false)) {
    return;
  } else {
    end.received.append(std::as_bytes(std::span(item.bytes)));
  }
  end.host->wake();
}

// --- Ends ---

void SimConnection::shutdown_write(Side side) {
  End& end = ends_[side];
  if (end.error != 0 || std::exchange(end.end_sent, true)) return;
  send(other(side), {Item::Kind::kEnd, {}});
}

void SimConnection::close(Side side, bool abort) {
  End& end = ends_[side];
  end.stream = nullptr;
  end.closed = true;
  if (end.error != 0) return;
  if (!end.established) return;  // establish() will see that this end is closed
  if (abort || !end.received.empty()) {
    if (random_.percent(50)) lose_in_flight(other(side));
    send(other(side), {Item::Kind::kReset, {}});
  } else if (!std::exchange(end.end_sent, true)) {
    send(other(side), {Item::Kind::kEnd, {}});
  }
}

void SimConnection::lose_in_flight(Side to) {
  auto& incoming = ends_[to].incoming;
  incoming.resize(random_.below(incoming.size() + 1));
}

void SimConnection::cut() {
  constexpr Duration kNoticedWithin = std::chrono::milliseconds(300);
  cut_ = true;
  const auto self = shared_from_this();
  for (const Side side : {kClient, kServer}) {
    lose_in_flight(side);
    network_.at(network_.now() + random_.between(Duration(0), kNoticedWithin), entity_,
                [self, side] { self->fail(side, ECONNRESET); });
  }
}

void SimConnection::lose_one_segment() { lose_next_ = true; }

}  // namespace hat::sim
