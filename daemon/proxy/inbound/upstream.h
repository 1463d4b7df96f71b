// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/upstream.h: connections to the local Thrift servers.
//
// A mirrored stream opens its own connection and closes it when the stream ends. A stream of a
// shared service borrows a connection from the pool for one call at a time
// (daemon/proxy/inbound/pooled_call.h). After a oneway call it keeps the connection until another
// stream needs one, so that its next call cannot overtake the oneway call. Such a stream also opens
// a connection of its own for what may not share one (see ServerStream).
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

#include "base/buffered_writer.h"
#include "base/reactor.h"
#include "config/node.h"
#include "daemon/proxy/inbound/detached_connections.h"
#include "daemon/proxy/inbound/inbound_lane.h"
#include "daemon/proxy/inbound/peer_share.h"
#include "daemon/proxy/unit_reader.h"
#include "daemon/proxy/zero_copy.h"

namespace hat {

class AcceptedLink;
class PooledCall;
class Worker;

// The user of a connection: a stream, or a pooled call.
class UpstreamUser {
 public:
  virtual ~UpstreamUser() = default;
  virtual PeerShare& share() const = 0;  // bytes held for the user count there
  virtual size_t read_budget() const = 0;
  virtual void on_upstream_connected() = 0;
  virtual void on_upstream_bytes(Bytes bytes) = 0;
  virtual void on_upstream_wrote(size_t bytes) = 0;
  virtual void on_upstream_end() = 0;                             // the server will send no more
  virtual void on_upstream_broke(const std::string& reason) = 0;  // refused, reset, or gone
};

// One connection and its present user.
class UpstreamConnection final : public StreamEvents {
 public:
  // Connects to the server. `first_id` is the sequence id of the first call, if the connection is
  // shared.
  UpstreamConnection(Worker& worker, const ServedConfig& served, int32_t first_id);
  // Continues a connection that another stream had.
  UpstreamConnection(Worker& worker, const ServedConfig& served, DetachedConnection connection);
  ~UpstreamConnection() override;

  void set_user(UpstreamUser* user);
  // Writes the bytes, or keeps those that the server does not take yet. The stream's window bounds
  // how many are kept.
  void write(Bytes bytes) { write(bytes, {}); }
  void write(Bytes bytes, Bytes more);
  void end_writes();  // sends FIN once everything is written
  void want_read(bool wanted);
  bool connected() const { return output_ != Output::kConnecting; }
  size_t backlog() const { return out_.size(); }
  // Returns true if bytes are written without keeping any of them, while the server takes them.
  bool passes_at_once() const { return connected() && out_.empty(); }
  // Returns true if the server has taken everything that was written, and more can be written.
  bool takes_all() const {
    return out_.empty() && output_ != Output::kFailed && !end_wanted_ && input_ != Input::kEnded &&
           !dead_;
  }
  UnitReader& replies() { return replies_; }
  // Sends the frame with `part` by a zero-copy send; `part` belongs to the bytes that the user was
  // given. Returns false if this lane cannot send from the memory of these bytes.
  bool send_zero_copy(AcceptedLink& link, const InboundLane& lane,
                      const engine::FrameHeader& header, Bytes part);
  const ServedConfig& served() const { return served_; }

  // Returns what another stream needs to continue the connection, with duplicates of its
  // descriptors. Returns nothing if this is not possible now, because bytes are on their way or a
  // lane reads from the connection's ring.
  std::optional<DetachedConnection> duplicate() const;
  // Gives the connection up, because another stream has the duplicates: reads nothing more; the
  // server does not notice.
  void abandon();

  // --- For a shared connection ---
  // The smallest sequence id. Every id from here to the largest takes five bytes as a varint, and
  // ten digits.
  static constexpr int32_t kFirstId = 1'000'000'000;
  int32_t next_id();
  void note_oneway_id(int32_t id);
  bool passed_oneway_id(int32_t id) const {
    return std::ranges::find(oneway_ids_, id) != oneway_ids_.end();
  }

  // --- For a connection that one stream has alone ---
  // Drops the unit that is being read, because it answers no call. The user calls
  // end_dropped_reply() at the unit's end.
  void drop_reply() {
    DCHECK(unit_ == Unit::kPassedOn);
    unit_ = Unit::kDropped;
  }
  bool drops_reply() const { return unit_ == Unit::kDropped; }
  void end_dropped_reply() {
    DCHECK(unit_ == Unit::kDropped);
    unit_ = Unit::kPassedOn;
  }
  // Notes that the connection carries bytes that no RequestGuard has checked.
  void note_unchecked() { carried_ = Carried::kUnchecked; }
  bool carried_unchecked() const { return carried_ == Carried::kUnchecked; }
  void note_oneway(uint64_t name);
  bool passed_oneway(uint64_t name) const {
    return std::ranges::find(oneways_, name) != oneways_.end();
  }

 private:
  // The bytes from the server: kPaused ◀──▶ kReading ──▶ kEnded.
  enum class Input : uint8_t {
    kPaused,  // not read, because the user does not want more
    kReading,
    kEnded,  // the server sends no more
  };
  // The bytes to the server: kConnecting ──▶ kOpen ──▶ kFailed.
  enum class Output : uint8_t {
    kConnecting,
    kOpen,
    kFailed,  // the server takes no more; what it has sent is still read
  };
  // The unit that is being read: kPassedOn ◀──▶ kDropped.
  enum class Unit : uint8_t { kPassedOn, kDropped };
  // The bytes that the connection has carried: kChecked ──▶ kUnchecked.
  enum class Carried : uint8_t { kChecked, kUnchecked };

  void on_readable() override;
  void on_writable() override;
  void change_to(Input next);
  void change_to(Output next);
  void buffered(int64_t change);
  void on_write_error(int error);
  void broke(const std::string& reason);

  Worker& worker_;
  const ServedConfig& served_;
  UpstreamUser* user_ = nullptr;
  UnitReader replies_;
  // Hashes of the names of oneway calls, and their ids below. A stock server answers a oneway call
  // whose function it does not know; by these the answer is recognised, and dropped.
  std::vector<uint64_t> oneways_;
  std::vector<int32_t> oneway_ids_;
  int32_t next_id_;
  BufferedWriter out_;
  Input input_ = Input::kPaused;
  Output output_ = Output::kConnecting;
  int write_error_ = 0;  // in Output::kFailed
  Unit unit_ = Unit::kPassedOn;
  Carried carried_ = Carried::kChecked;
  bool end_wanted_ = false;  // FIN follows what is written
  bool dead_ = false;        // it is broken or given up: no event follows
  std::unique_ptr<ByteStream> stream_;
  BulkSender bulk_;
};

class UpstreamPool {
 public:
  UpstreamPool(Worker& worker, uint32_t seed) : worker_(worker), random_(seed) {}

  // The most connections of one service that belong to a single stream each. Of a shared service
  // these are the further connections; of a mirrored service without `max_connections`, all.
  static constexpr size_t kOwnMax = 1024;
  // Opens a connection for one stream alone. Returns null if the limit is reached.
  std::unique_ptr<UpstreamConnection> open(const ServedConfig& served);
  // Continues a connection that another stream had. Does not check the limit, which allowed the
  // connection when it was opened.
  std::unique_ptr<UpstreamConnection> adopt(const ServedConfig& served,
                                            DetachedConnection connection);
  // Returns the connection of a parked call, for the call's stream alone from now on. Returns null
  // if the limit is reached.
  std::unique_ptr<UpstreamConnection> keep(PooledCall& call);
  // Closes a connection that open(), adopt() or keep() returned.
  void close(std::unique_ptr<UpstreamConnection> connection);

  // Returns a shared connection for one call. Returns null if none is free; then on_turn() passes
  // one to the call when its turn comes.
  std::unique_ptr<UpstreamConnection> acquire(const ServedConfig& served, PooledCall& call);
  // Takes back a call's shared connection. `reusable` says that no reply is due on it. Then it
  // serves another call, unless bytes of the last request still wait to be written to the server.
  void take_back(std::unique_ptr<UpstreamConnection> connection, bool reusable);
  // Lets the call keep its connection until another call waits for one.
  void park(PooledCall& call);
  void unpark(PooledCall& call);
  // Passes connections that may have become free to waiting calls.
  void serve_waiting(const ServedConfig& served);
  // Removes the call from those that wait.
  void forget(PooledCall& call);
  // Removes an idle connection that the server has closed.
  void on_idle_broke(UpstreamConnection& connection);

 private:
  struct Service {
    size_t own = 0;
    size_t shared = 0;
    std::list<std::unique_ptr<UpstreamConnection>> idle;
    std::list<PooledCall*> parked;
    std::list<PooledCall*> waiting;
    bool serving = false;  // serve_waiting() is running
    // Asserts that the pool has counted each connection that it keeps: a shared one that is neither
    // idle nor parked has a call.
    void check() const { DCHECK_LE(idle.size() + parked.size(), shared); }
  };
  Service& of(const ServedConfig& served) { return services_[&served]; }
  static size_t shared_max(const ServedConfig& served);
  // Counts a shared connection that is no longer one.
  static void forget_shared(Service& service);
  static void forget_own(Service& service);
  std::unique_ptr<UpstreamConnection> find_shared(const ServedConfig& served);

  Worker& worker_;
  std::mt19937 random_;
  std::unordered_map<const ServedConfig*, Service> services_;
};

}  // namespace hat
