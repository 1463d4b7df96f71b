// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/upstream.h: connections to the local Thrift servers.
//
// A mirrored stream opens its own and closes it with the stream. One of a shared service borrows
// from the pool for a call at a time (daemon/proxy/inbound/pooled_call.h); after a oneway call it
// keeps the connection, so that what it sends next cannot overtake, until somebody else needs one.
// What may not share a connection (see ServerStream) has one of its own there too.
//
// Thread   the worker's.
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/byte_queue.h"
#include "base/reactor.h"
#include "config/node.h"
#include "daemon/proxy/inbound/detached_connections.h"
#include "daemon/proxy/inbound/peer_share.h"
#include "daemon/proxy/loans.h"
#include "daemon/proxy/unit_reader.h"

namespace hat {

class AcceptedLink;
class PooledCall;
class Worker;

// Who uses a connection.
class UpstreamUser {
 public:
  virtual ~UpstreamUser() = default;
  virtual PeerShare& share() const = 0;  // what is kept for it counts there
  virtual size_t read_budget() const = 0;
  virtual void on_upstream_connected() = 0;
  virtual void on_upstream_bytes(Bytes bytes) = 0;
  virtual void on_upstream_wrote(size_t bytes) = 0;
  virtual void on_upstream_end() = 0;                             // it will send no more
  virtual void on_upstream_broke(const std::string& reason) = 0;  // refused, reset, or gone
};

// One connection, with whoever uses it now.
class UpstreamConnection final : public StreamEvents {
 public:
  // `first_id`: of the calls on it, where it is shared.
  UpstreamConnection(Worker& worker, const ServedConfig& served, int32_t first_id);
  // Goes on with one that another stream had.
  UpstreamConnection(Worker& worker, const ServedConfig& served, DetachedConnection connection);
  ~UpstreamConnection() override;

  void set_user(UpstreamUser* user);
  // Writes or keeps; what is kept is bounded by the stream's window.
  void write(Bytes bytes) { write(bytes, {}); }
  void write(Bytes bytes, Bytes more);
  void end_writes();  // FIN once all is written
  void want_read(bool wanted);
  bool connected() const { return connected_; }
  size_t backlog() const { return out_.size(); }
  // Has taken all that was written, and would take more.
  bool takes_all() const {
    return out_.empty() && write_error_ == 0 && !end_wanted_ && !ended_ && !dead_;
  }
  UnitReader& replies() { return replies_; }
  // Sends the frame with a part of what its user was given, from where that lies. False: it lies
  // nowhere that can be sent from.
  bool lend(AcceptedLink& link, engine::RdmaLane& lane, uint32_t number,
            const engine::FrameHeader& header, Bytes part);
  const ServedConfig& served() const { return served_; }

  // What another stream needs to go on with it: duplicates of its descriptors. Nothing: not now,
  // since bytes are on their way here, or a lane reads from its ring.
  std::optional<DetachedConnection> duplicate() const;
  // Another stream has the duplicates: nothing is read here any more, nor is the server told.
  void abandon();

  // --- Where it is shared ---
  // From kFirstId to the largest: always five bytes as a varint, and ten digits.
  static constexpr int32_t kFirstId = 1'000'000'000;
  int32_t next_id();
  void note_oneway_id(int32_t id);
  bool passed_oneway_id(int32_t id) const {
    return std::ranges::find(oneway_ids_, id) != oneway_ids_.end();
  }

  // --- Where it is one stream's own ---
  bool dropping_reply = false;  // the unit being read answers nobody
  bool unchecked = false;  // it has carried what daemon/proxy/inbound/server_guard.cc did not check
  void note_oneway(uint64_t name);
  bool passed_oneway(uint64_t name) const {
    return std::ranges::find(oneways_, name) != oneways_.end();
  }

 private:
  void on_readable() override;
  void on_writable() override;
  void buffered(int64_t change);
  bool pass_bulk(size_t budget);
  void on_write_error(int error);
  void broke(const std::string& reason);

  Worker& worker_;
  const ServedConfig& served_;
  UpstreamUser* user_ = nullptr;
  UnitReader replies_;
  // Names of oneway calls, by hash: a stock server answers one that it does not know.
  std::vector<uint64_t> oneways_;
  std::vector<int32_t> oneway_ids_;
  int32_t next_id_;
  ByteQueue out_;
  bool connected_ = false;
  bool reading_ = false;
  bool end_wanted_ = false;
  bool ended_ = false;   // the server said all that it will
  int write_error_ = 0;  // it takes no more, and is read to its end
  bool dead_ = false;
  bool in_place_ = false;  // what its user is given lies in the stream's memory
  bool lent_ = false;      // and was lent
  std::unique_ptr<Stream> stream_;
  Lender lender_;
};

class UpstreamPool {
 public:
  UpstreamPool(Worker& worker, uint32_t seed) : worker_(worker), random_(seed) {}

  // Connections of a shared service that are some stream's own.
  static constexpr size_t kOwnMax = 1024;
  // A connection for one stream alone; null: all are taken.
  std::unique_ptr<UpstreamConnection> open(const ServedConfig& served);
  // One that another stream had. It was within the limit when it was opened.
  std::unique_ptr<UpstreamConnection> adopt(const ServedConfig& served,
                                            DetachedConnection connection);
  // That of a parked call, which its stream has for itself from here on; null: all are taken.
  std::unique_ptr<UpstreamConnection> keep(PooledCall& call);
  // Ends one of these.
  void close(std::unique_ptr<UpstreamConnection> connection);

  // A shared connection for one call. Null: the call is told with on_turn() when its turn comes.
  std::unique_ptr<UpstreamConnection> lend(const ServedConfig& served, PooledCall& call);
  // `reusable`: it owes nothing, and may serve another call once the server has taken all.
  void take_back(std::unique_ptr<UpstreamConnection> connection, bool reusable);
  // It keeps its connection only as long as nobody waits.
  void park(PooledCall& call);
  void unpark(PooledCall& call);
  // A connection may have become free.
  void serve_waiting(const ServedConfig& served);
  // The call does not wait any more.
  void forget(PooledCall& call);
  // An idle connection that its server closed.
  void on_idle_broke(UpstreamConnection& connection);

 private:
  struct Service {
    size_t own = 0;
    size_t shared = 0;
    std::list<std::unique_ptr<UpstreamConnection>> idle;
    std::list<PooledCall*> parked;
    std::list<PooledCall*> waiting;
    bool serving = false;  // serve_waiting() runs
  };
  Service& of(const ServedConfig& served) { return services_[&served]; }
  std::unique_ptr<UpstreamConnection> find_shared(const ServedConfig& served);

  Worker& worker_;
  std::mt19937 random_;
  std::unordered_map<const ServedConfig*, Service> services_;
};

}  // namespace hat
