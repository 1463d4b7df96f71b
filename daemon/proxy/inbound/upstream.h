// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/upstream.h: connections to the local Thrift servers.
//
// In mirror mode, each stream opens an upstream connection of its own and closes the connection
// when the stream ends. In shared mode, a stream takes a connection from the pool for one call at a
// time (daemon/proxy/inbound/pooled_call.h). After a oneway call the stream keeps the connection
// until another stream needs a connection, because the stream's next call on another connection
// could overtake the oneway call. In shared mode a stream also opens a connection of its own for
// bytes that must not use a shared connection (daemon/proxy/inbound/server_stream.h).
//
// Thread   the worker's.
#pragma once

#include <algorithm>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/buffered_writer.h"
#include "base/reactor.h"
#include "daemon/proxy/configured.h"
#include "daemon/proxy/deadlines.h"
#include "daemon/proxy/inbound/detached_connections.h"
#include "daemon/proxy/inbound/inbound_lane.h"
#include "daemon/proxy/inbound/peer_share.h"
#include "daemon/proxy/inbound/server_addresses.h"
#include "daemon/proxy/inbound/waiting_calls.h"
#include "daemon/proxy/landings.h"
#include "daemon/proxy/unit_reader.h"
#include "daemon/proxy/zero_copy.h"

namespace hat {

class AcceptedLink;
class PooledCall;
class Worker;

// The present user of an upstream connection: a ServerStream or a PooledCall.
class UpstreamUser {
 public:
  virtual ~UpstreamUser() = default;
  // Returns the counts of the peer for which the user works. The connection adds the bytes that it
  // holds for the user to these counts.
  virtual PeerShare& share() const = 0;
  // Returns how many bytes from the server the user takes now.
  virtual size_t read_budget() = 0;
  virtual void on_upstream_connected() = 0;
  virtual void on_upstream_bytes(Bytes bytes) = 0;
  // Reports that the server has taken `bytes` bytes, or that they were dropped after an error.
  virtual void on_upstream_wrote(size_t bytes) = 0;
  // Reports that shortage() is smaller now, because the server has read bytes from its ring.
  virtual void on_upstream_half_free() {}
  // Reports that the server will send no more bytes.
  virtual void on_upstream_end() = 0;
  // Reports that the connection was refused or has failed.
  virtual void on_upstream_broke(const std::string& reason) = 0;
};

// One connection to a local server. At most one UpstreamUser uses it at a time. The deadline is set
// while the connection waits for an address of a server with several ones.
class UpstreamConnection final : public StreamEvents, private Deadline {
 public:
  // If an address does not accept a connection within this time, the connection is made to the next
  // one, and later connections avoid this address for a while.
  static constexpr Duration kSlowConnect = std::chrono::milliseconds(500);

  // Connects to the server `served`. `first_id` is the sequence id of the first call, if the
  // connection is shared.
  UpstreamConnection(Worker& worker, std::shared_ptr<const Served> served, int32_t first_id);
  // Continues a detached connection that another stream had.
  UpstreamConnection(Worker& worker, std::shared_ptr<const Served> served,
                     DetachedConnection connection);
  ~UpstreamConnection() override;

  // Sets the user; null: the connection is idle.
  void set_user(UpstreamUser* user);
  // Writes the bytes, and keeps those that the server does not take yet. The stream's window limits
  // how many bytes are kept.
  void write(Bytes bytes) { write(bytes, {}); }
  void write(Bytes bytes, Bytes more);
  // Sends FIN to the server once all bytes are written.
  void end_writes();
  void want_read(bool wanted);
  // Reads once, as for an event of the socket, if want_read(true) was the last call. Returns true
  // if bytes were read.
  bool read_now();
  bool connected() const { return output_ != Output::kConnecting; }
  // Returns how many bytes of a stream's window do not fit into the free space of the server's
  // ring; 0 for a server on a socket.
  size_t shortage() { return stream_->shortage(engine::kStreamWindowBytes); }
  // Returns true if a new connection could go to the same address.
  bool is_at_current_address() const;
  // Returns the address of the connection, if the server's host has several; otherwise null.
  const Address* address() const { return tried_.empty() ? nullptr : &tried_.back(); }
  // Returns the number of bytes that wait to be written.
  size_t backlog() const { return out_.size(); }
  // Returns true if the connection is made and no bytes wait, so that write() writes at once.
  bool passes_at_once() const { return connected() && out_.empty(); }
  // Returns true if the server has taken all bytes that were written, and more can be written.
  bool takes_all() const {
    return out_.empty() && output_ != Output::kFailed && !end_wanted_ && input_ != Input::kEnded &&
           !dead_;
  }
  UnitReader& replies() { return replies_; }
  // Sends a frame with `part` on `lane` without a copy. `part` must be the bytes that the user got
  // by on_upstream_bytes(). Returns false, and sends nothing, if `lane` cannot send from the memory
  // of `part`.
  bool send_zero_copy(AcceptedLink& link, const InboundLane& lane,
                      const engine::FrameHeader& header, Bytes part);
  // Returns space in the server's ring for the next `bytes` bytes of a request, which the lane of
  // `asker` READs; returns no space if there is none, or if earlier bytes still wait for space.
  engine::Landing landing(const LandingAsker& asker, size_t bytes) {
    return passes_at_once() && takes_all() ? receiver_.landing(*stream_, asker, bytes)
                                           : engine::Landing();
  }
  const std::shared_ptr<const Served>& served() const { return served_; }

  // Returns what another stream needs to continue the connection, with duplicates of the
  // descriptors. Returns nothing if this is impossible at present: bytes wait to be written, a
  // reply is arriving, or an RDMA lane has borrowed a range of the connection's ring.
  std::optional<DetachedConnection> duplicate() const;
  // Stops reading and writing, because another stream continues with the result of duplicate(). The
  // server does not notice.
  void abandon();

  // --- For a shared connection ---
  // The smallest sequence id. Every id from kFirstId to the largest has the same encoded length:
  // five bytes as a varint, and ten digits as text.
  static constexpr int32_t kFirstId = 1'000'000'000;
  // Returns the sequence id for the next call.
  int32_t next_id();
  // Remembers the sequence id of a oneway call.
  void note_oneway_id(int32_t id);
  // Returns true if one of the last oneway calls had this sequence id.
  bool passed_oneway_id(int32_t id) const {
    return std::ranges::find(oneway_ids_, id) != oneway_ids_.end();
  }

  // --- For a connection that one stream has alone ---
  // Makes the user drop the reply that is being read, because the reply answers a oneway call. The
  // user must call end_dropped_reply() at the end of the reply.
  void drop_reply() {
    DCHECK(unit_ == Unit::kPassedOn);
    unit_ = Unit::kDropped;
  }
  bool drops_reply() const { return unit_ == Unit::kDropped; }
  void end_dropped_reply() {
    DCHECK(unit_ == Unit::kDropped);
    unit_ = Unit::kPassedOn;
  }
  // Records that request bytes were written which no RequestGuard has checked.
  void note_unchecked() { carried_ = Carried::kUnchecked; }
  bool carried_unchecked() const { return carried_ == Carried::kUnchecked; }
  // Remembers `name`, the hash of the function's name of a oneway call.
  void note_oneway(uint64_t name);
  // Returns true if the connection has carried a oneway call with this hash of its name.
  bool passed_oneway(uint64_t name) const {
    return std::ranges::find(oneways_, name) != oneways_.end();
  }

 private:
  // The bytes from the server: kPaused ◀──▶ kReading ──▶ kEnded.
  enum class Input : uint8_t {
    kPaused,  // the connection does not read, because the user takes no bytes now
    kReading,
    kEnded,  // the server sends no more
  };
  // The bytes to the server: kConnecting ──▶ kOpen ──▶ kFailed.
  enum class Output : uint8_t {
    kConnecting,
    kOpen,
    kFailed,  // the server takes no more bytes; the bytes that it has sent are still read
  };
  // Whether the reply that is being read is passed on to the peer: kPassedOn ◀──▶ kDropped.
  enum class Unit : uint8_t { kPassedOn, kDropped };
  // Whether a RequestGuard has checked all requests so far: kChecked ──▶ kUnchecked.
  enum class Carried : uint8_t { kChecked, kUnchecked };

  void on_readable() override { read_once(); }
  void on_half_free() override {
    if (user_ != nullptr) user_->on_upstream_half_free();
  }
  bool read_once();
  void take(Bytes bytes, bool all);
  void on_writable() override;
  void change_to(Input next);
  void change_to(Output next);
  void buffered(int64_t change);
  void on_write_error(int error);
  std::unique_ptr<ByteStream> connect();
  std::unique_ptr<ByteStream> connect_to_next();
  const Address* next_address() const;
  Ejections& ejections();
  void count_use(bool begins);
  void on_deadline() override;
  void on_accepted();
  void eject_address(const std::string& reason);
  bool try_next_address();
  void broke(const std::string& reason);

  Worker& worker_;
  const std::shared_ptr<const Served> served_;
  UpstreamUser* user_ = nullptr;
  UnitReader replies_;
  // Hashes of the names of oneway calls. A stock server answers a oneway call of an unknown
  // function with an exception; the daemon recognises such an answer by the hash, and drops it.
  std::vector<uint64_t> oneways_;
  std::vector<int32_t> oneway_ids_;  // on a shared connection: sequence ids of oneway calls
  int32_t next_id_;
  BufferedWriter out_;
  Input input_ = Input::kPaused;
  Output output_ = Output::kConnecting;
  int write_error_ = 0;  // the errno value of the failed write, if output_ is kFailed
  Unit unit_ = Unit::kPassedOn;
  Carried carried_ = Carried::kChecked;
  bool end_wanted_ = false;  // a FIN must be sent once all bytes are written
  bool dead_ = false;        // the connection has failed or was abandoned; no event follows
  // Addresses of ServedConfig::addresses, the last of them that of `stream_`; empty for a ring, a
  // numeric upstream, or a connection that was detached.
  std::vector<Address> tried_;
  bool may_try_next_ = true;  // no byte has come from the server
  std::unique_ptr<ByteStream> stream_;
  BulkSender bulk_;
  BulkReceiver receiver_;
};

// All upstream connections of one worker.
class UpstreamPool {
 public:
  UpstreamPool(Worker& worker, uint32_t seed) : worker_(worker), random_(seed) {}

  // The most connections of one service that are not shared. For a service in mirror mode,
  // `max_connections` replaces this limit if it is set.
  static constexpr size_t kOwnMax = 1024;
  // Opens a connection that only one stream uses. Returns null if the limit is reached.
  std::unique_ptr<UpstreamConnection> open(const std::shared_ptr<const Served>& served);
  // Continues a detached connection that another stream had. Does not check the limit, which was
  // checked when the connection was opened.
  std::unique_ptr<UpstreamConnection> adopt(const std::shared_ptr<const Served>& served,
                                            DetachedConnection connection);
  // Makes the connection of a parked call (PooledCall::parked()) one that only the call's stream
  // uses, and returns the connection. Returns null if the limit is reached.
  std::unique_ptr<UpstreamConnection> keep(PooledCall& call);
  // Closes a connection that open(), adopt() or keep() returned.
  void close(std::unique_ptr<UpstreamConnection> connection);
  // Returns true at most once a minute for each service. Then a connection may log that the server
  // does not listen at its ring.
  bool may_warn_of_ring(const Served& served);
  // Returns the addresses of the server, with their use by connections.
  ServerAddresses& addresses(const Served& served) { return of(served).addresses; }

  // Returns a shared connection for one call: an idle one, or a new one if the limit permits, or
  // one that a parked call gives up. If there is none, returns null, and later calls
  // PooledCall::on_turn() with a connection. WaitingCalls has the order of the waiting calls.
  std::unique_ptr<UpstreamConnection> acquire(const std::shared_ptr<const Served>& served,
                                              PooledCall& call, Priority priority);
  // Takes back a shared connection. Keeps the connection for other calls if `reusable` is true (no
  // reply is expected on it) and no bytes wait to be written to the server. Otherwise closes it.
  void take_back(std::unique_ptr<UpstreamConnection> connection, bool reusable);
  // Lets `call`, a oneway call, keep its connection until another call waits for a connection.
  void park(PooledCall& call);
  // Undoes park(): from now on `call` keeps its connection even if another call waits for one.
  void unpark(PooledCall& call);
  // Gives connections to the calls that wait for one, until acquire() would return null.
  void serve_waiting(const std::shared_ptr<const Served>& served);
  // Removes `call` from the calls that wait for a connection.
  void forget(PooledCall& call);
  // Closes the idle shared connections of a service that a reload has removed or replaced, and
  // those to addresses that the server no longer has. Those in use are closed when their calls end.
  void retire(const Served& served);
  // Removes an idle connection that has ended.
  void on_idle_broke(UpstreamConnection& connection);

 private:
  struct Service {
    size_t own = 0;     // the number of connections that only one stream uses each
    size_t shared = 0;  // the number of shared connections
    std::list<std::unique_ptr<UpstreamConnection>> idle;
    std::list<PooledCall*> parked;
    WaitingCalls waiting;
    bool serving = false;    // serve_waiting() is running
    TimePoint warns_from{};  // may_warn_of_ring() returns false before this time
    ServerAddresses addresses;
    explicit Service(uint32_t first_address) : addresses(first_address) {}
    // Asserts that `shared` counts at least the idle connections and those of parked calls. Each
    // other shared connection has a call in flight.
    void check() const { DCHECK_LE(idle.size() + parked.size(), shared); }
  };
  Service& of(const Served& served) {
    const auto found = services_.find(served.number);
    return found != services_.end() ? found->second
                                    : services_.try_emplace(served.number, random_()).first->second;
  }
  std::unique_ptr<UpstreamConnection> take_idle(const std::shared_ptr<const Served>& served);
  static size_t shared_max(const ServedConfig& served);
  // Subtracts one from the number of shared connections.
  static void forget_shared(Service& service);
  static void forget_own(Service& service);
  std::unique_ptr<UpstreamConnection> find_shared(const std::shared_ptr<const Served>& served);

  Worker& worker_;
  std::mt19937 random_;
  std::unordered_map<uint32_t, Service> services_;  // by Served::number
};

}  // namespace hat
