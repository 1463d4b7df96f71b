// SPDX-License-Identifier: Apache-2.0
// daemon/upstream.h: connections to the local Thrift servers.
//
// A mirrored stream opens its own and closes it with the stream. A shared one borrows from the pool
// for a call at a time; after a oneway call it keeps the connection, so that what it sends next
// cannot overtake, until its next reply or until somebody else needs one.
//
// Thread   the worker's.
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/byte_queue.h"
#include "base/reactor.h"
#include "config/node.h"
#include "daemon/detached_connections.h"
#include "daemon/loans.h"
#include "daemon/unit_reader.h"

namespace hat {

class ServerStream;
class UpstreamPool;
class Worker;

// Of a function's bare name: FNV-1a, the same in every process.
constexpr uint64_t name_hash(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char one : name) hash = (hash ^ static_cast<uint8_t>(one)) * 0x100000001b3;
  return hash;
}

// One connection, with whoever uses it now.
class UpstreamConnection final : public StreamEvents {
 public:
  UpstreamConnection(Worker& worker, const ServedConfig& served);
  // Goes on with one that another stream had.
  UpstreamConnection(Worker& worker, const ServedConfig& served, DetachedConnection connection);
  ~UpstreamConnection() override;

  void set_user(ServerStream* user);
  // Writes or keeps; what is kept is bounded by the stream's window.
  void write(Bytes bytes);
  void end_writes();  // FIN once all is written
  void want_read(bool wanted);
  bool connected() const { return connected_; }
  size_t backlog() const { return out_.size(); }
  // Has taken all that was written, and would take more.
  bool takes_all() const { return out_.empty() && write_error_ == 0 && !end_wanted_; }
  UnitReader& replies() { return replies_; }
  // Sends the frame with a part of what its user was given, from where that lies. False: it lies
  // nowhere that can be sent from.
  bool lend(engine::RdmaLane& lane, uint32_t number, Loans& loans,
            const engine::FrameHeader& header, Bytes part);
  const ServedConfig& served() const { return served_; }

  // What another stream needs to go on with it: duplicates of its descriptors. Nothing: not now,
  // since bytes are on their way here, or a lane reads from its ring.
  std::optional<DetachedConnection> duplicate() const;
  // Another stream has the duplicates: nothing is read here any more, nor is the server told.
  void abandon();

  // What the connection owes passes with it from one user to the next.
  bool dropping_reply = false;  // the unit being read answers nobody
  void note_oneway(uint64_t name);
  bool passed_oneway(uint64_t name) const {
    return std::ranges::find(oneways_, name) != oneways_.end();
  }

 private:
  void on_readable() override;
  void on_writable() override;
  bool pass_bulk(size_t budget);
  void on_write_error(int error);
  void broke(const std::string& reason);

  Worker& worker_;
  const ServedConfig& served_;
  ServerStream* user_ = nullptr;
  UnitReader replies_;
  // Names of oneway calls, by hash: a stock server answers one that it does not know.
  std::vector<uint64_t> oneways_;
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
  explicit UpstreamPool(Worker& worker) : worker_(worker) {}

  enum class Answer : uint8_t { kConnection, kWait, kRefused };
  // kWait (shared only): the stream is told with on_upstream_free() when its turn comes.
  Answer acquire(const ServedConfig& served, ServerStream& stream,
                 std::unique_ptr<UpstreamConnection>& connection);
  // One that another stream had. It was within the limit when it was opened.
  std::unique_ptr<UpstreamConnection> adopt(const ServedConfig& served,
                                            DetachedConnection connection);
  // A connection whose call is done; `reusable`: it owes nothing and may serve another call.
  void release(std::unique_ptr<UpstreamConnection> connection, bool reusable);
  // The stream keeps its connection only as long as nobody waits.
  void park(ServerStream& stream);
  void unpark(ServerStream& stream);
  // A connection may have become free.
  void serve_waiting(const ServedConfig& served);
  // The stream does not wait any more.
  void forget(ServerStream& stream);
  // An idle connection that its server closed.
  void on_idle_broke(UpstreamConnection& connection);

 private:
  struct Service {
    size_t open = 0;
    std::list<std::unique_ptr<UpstreamConnection>> idle;
    std::list<ServerStream*> parked;
    std::list<ServerStream*> waiting;
  };
  Service& of(const ServedConfig& served) { return services_[&served]; }
  static size_t connections_max(const ServedConfig& served);
  static std::list<ServerStream*>::iterator find_giver(Service& service);

  Worker& worker_;
  std::unordered_map<const ServedConfig*, Service> services_;
};

}  // namespace hat
