// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/ring_fuzz.cc: connects each RingStream with a fake other side (class Rogue). The
// fuzz input decides how the fake breaks the rules: in its greeting, on its socket or in the shared
// memory. The streams must access no memory outside of the ring and leave no descriptor open.
//
// Input    One byte chooses the number of connections, their sides and their greetings. Steps
//          follow: each has bytes that choose a connection, an actor (the stream or its other side)
//          and an operation, and then the operation's arguments. While the other side keeps the
//          rules (kept_rules()), the bytes that it sends must arrive, and the stream must call
//          on_readable() for them.
#include <fcntl.h>
#include <glog/logging.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "daemon/reactor/fake_ring_side.h"
#include "daemon/reactor/ring_stream.h"
#include "tests/fuzz/input.h"

namespace hat {
namespace {

constexpr size_t kStepsMax = 400;
constexpr int kIterationsMax = 20'000;
constexpr uint8_t kOnlyReads = 1;     // for Connection::behave(): each event only reads
constexpr size_t kPieceMax = 70'000;  // bytes; more than the smallest ring holds

size_t open_descriptors() {
  size_t count = 0;
  for (int fd = 0; fd < 128; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1u : 0u;
  return count;
}

// A RingStream under test and the fake other side of its ring.
class Connection final : public StreamEvents {
 public:
  Connection(FuzzInput& input, LibeventReactor& reactor, Side rogue_side) {
    int sockets[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0, "no sockets");
    rogue_ = std::make_unique<Rogue>(input, rogue_side, sockets[0]);
    stream_ =
        std::make_unique<RingStream>(reactor, Descriptor(sockets[1]), other(rogue_side), *this);
  }

  Rogue& rogue() { return *rogue_; }
  // Returns true if the stream exists and has read neither the end nor an error.
  bool lives() const { return stream_ && !saw_end_; }
  void end() { stream_.reset(); }
  void behave(uint8_t how) { manner_ = how; }
  void meet(Connection& other) { other_ = &other; }

  void on_readable() override {
    require(reading_, "an event for data that nobody wants");
    ++readable_events_;
    answer(manner_ % 8, false);
  }
  void on_writable() override {
    require(writing_, "an event for space that nobody wants");
    ++writable_events_;
    answer(manner_ / 8 % 8, true);
  }

  void want_read(bool wanted) {
    if (stream_) stream_->want_read(reading_ = wanted);
  }
  void want_write(bool wanted) {
    if (stream_) stream_->want_write(writing_ = wanted);
  }
  void shutdown_write() {
    if (stream_) stream_->shutdown_write();
    ended_writes_ = true;
  }
  void abort_on_close() {
    if (stream_) stream_->abort_on_close();
  }
  void read_again() {
    if (stream_) stream_->read_again();
  }

  IoResult::Kind read(size_t bytes) {
    if (!stream_ || bytes == 0) return IoResult::Kind::kWouldBlock;
    std::vector<std::byte> space(bytes);  // exact, so that AddressSanitizer detects an overrun
    const IoResult result = stream_->read(space);
    note_error(result, ECONNRESET, true);
    saw_end_ |= result.kind == IoResult::Kind::kEnd || result.kind == IoResult::Kind::kError;
    if (result.kind != IoResult::Kind::kOk) return result.kind;
    require(result.bytes >= 1 && result.bytes <= bytes, "it read more than it may");
    if (rogue_->kept_rules()) {
      for (size_t i = 0; i < result.bytes; ++i) {
        require(space[i] == pattern(read_ + i), "it read what was not sent");
      }
      require(read_ + result.bytes <= rogue_->sent(), "it read more than was sent");
    }
    read_ += result.bytes;
    return result.kind;
  }

  IoResult::Kind write(size_t bytes, size_t parts) {
    if (!stream_ || bytes == 0 || ended_writes_) return IoResult::Kind::kWouldBlock;
    std::vector<std::byte> all(bytes);
    for (size_t i = 0; i < bytes; ++i) all[i] = pattern(written_ + i);
    std::vector<iovec> from;
    for (size_t i = 0; i < parts; ++i) {
      from.push_back({all.data() + bytes * i / parts, bytes * (i + 1) / parts - bytes * i / parts});
    }
    const IoResult result = stream_->write(from);
    note_error(result, EPIPE, false);
    if (result.kind != IoResult::Kind::kOk) return result.kind;
    require(reserved_.empty(), "it wrote before the reserved bytes");
    require(result.bytes >= 1 && result.bytes <= bytes, "it wrote no byte or too many");
    written_ += result.bytes;
    return result.kind;
  }

  // Reads up to `bytes` bytes in place. Then takes them, or borrows them until give_back() if
  // `borrows`.
  void read_in_place(size_t bytes, bool borrows) {
    if (!stream_) return;
    const std::span<const std::byte> there = stream_->peek();
    bytes = std::min(bytes, there.size());
    if (bytes == 0) return;
    memory_ = stream_->memory();
    require(memory_ != nullptr && memory_->data() <= there.data() &&
                there.data() + there.size() <= memory_->data() + memory_->size(),
            "it shows more than its memory");
    // Reads each byte, because a read of memory that is not mapped faults.
    for (size_t i = 0; i < bytes; ++i) sum_ += static_cast<unsigned>(there[i]);
    if (rogue_->kept_rules()) require(there[0] == pattern(read_), "it shows what was not sent");
    read_ += bytes;
    if (!borrows) return stream_->take(bytes);
    borrowed_.push_back(stream_->borrow(bytes));
  }
  // Reserves space for `bytes` bytes; end_reservation() ends it.
  void reserve(size_t bytes) {
    if (!stream_ || bytes == 0 || ended_writes_) return;
    const std::span<std::byte> space = stream_->reserve(bytes);
    if (space.empty()) return;
    require(space.size() == bytes, "it reserves another number of bytes");
    memory_ = stream_->space_memory();
    require(memory_ != nullptr && memory_->data() <= space.data() &&
                space.data() + bytes <= memory_->data() + memory_->size(),
            "it reserves more than its memory");
    reserved_.push_back(space);
  }
  // Writes a reserved space, which only the first one may be, or gives it back.
  void end_reservation(size_t which, bool writes) {
    if (!stream_ || reserved_.empty()) return;
    const auto one = reserved_.begin() + static_cast<ptrdiff_t>(which % reserved_.size());
    const std::span<std::byte> space = *one;
    const bool is_first = one == reserved_.begin();
    reserved_.erase(one);
    for (size_t i = 0; i < space.size(); ++i) space[i] = pattern(written_ + i);
    if (writes && !ended_writes_) {
      const iovec part{space.data(), space.size()};
      const IoResult result = stream_->write({&part, 1});
      note_error(result, EPIPE, false);
      const bool is_written = result.kind == IoResult::Kind::kOk;
      require(!is_written || (is_first && result.bytes == space.size()), "it wrote too early");
      require(result.kind != IoResult::Kind::kWouldBlock || !is_first, "reserved space is free");
      if (is_written) {
        written_ += result.bytes;
        return require(!stream_->unreserve(space.data()), "it reserves what was written");
      }
    }
    stream_->unreserve(space.data());
  }
  void ask_for_shortage(size_t bytes) {
    if (stream_) require(stream_->shortage(bytes) <= bytes, "more is missing than was wanted");
  }
  void give_back(size_t which) {
    if (!stream_ || borrowed_.empty()) return;
    const auto one = borrowed_.begin() + static_cast<ptrdiff_t>(which % borrowed_.size());
    stream_->give_back(*one);
    borrowed_.erase(one);
  }
  void look_at_memory() {
    if (memory_ != nullptr) sum_ += static_cast<unsigned>(memory_->back());
  }

  // Checks that there is nothing to read if two iterations did not call on_readable().
  template <class Iterate>
  void check_events(Iterate iterate) {
    if (!stream_) return;
    want_write(false);
    want_read(true);
    const size_t before = readable_events_;
    iterate();  // can find a broken rule, which only the next iteration reports
    iterate();
    if (!stream_ || !reading_ || readable_events_ != before) return;
    require(read(1) == IoResult::Kind::kWouldBlock, "bytes arrived without an event");
  }

  // Checks that the stream reports bytes of a side that keeps the rules, whether the ring was hot
  // or cold.
  template <class Iterate>
  void check_heard(Iterate iterate) {
    if (!stream_ || !reading_ || writing_ || !rogue_->kept_rules() || rogue_->ended()) return;
    if (!rogue_->has_sent_more_than(read_)) return;
    const size_t before = readable_events_;
    // While rings are hot, the reactor polls the sockets only after a while.
    for (int i = 0; i < 9; ++i) iterate();
    // An event of the other connection can have destroyed this connection's stream.
    require(!stream_ || readable_events_ != before, "a doorbell rang without an event");
  }

 private:
  // Checks a result of read() (`reads`) or write(). After the errno value `of_one_direction`, the
  // other direction still works; after any other error, every call must fail.
  void note_error(const IoResult& result, int of_one_direction, bool reads) {
    const bool failed = result.kind == IoResult::Kind::kError;
    require(!dead_ || failed, "it lives again after an error");
    require(!write_dead_ || reads || failed, "it writes again after an error");
    require(failed == (result.error != 0), "errors have a number, and others none");
    if (failed && result.error != of_one_direction) dead_ = true;
    if (failed && !reads) write_dead_ = true;
  }

  void answer(uint8_t how, bool space) {
    switch (how) {
      case 0:
        read(64);
        return want_write(false);
      case 1:
        for (int i = 0; i < 8 && read(kPieceMax) == IoResult::Kind::kOk; ++i) {
        }
        return want_write(false);
      case 2:
        return space ? want_write(false) : want_read(false);
      case 3:
        return end();
      case 4:
        return read_again();
      case 5:
        write(kPieceMax, 2);
        return want_read(false);
      case 6:
        if (other_ != nullptr) other_->end();
        return;
      default:
        write(1, 1);
        read(1);
    }
  }

  Connection* other_ = nullptr;
  uint8_t manner_ = 0;
  bool reading_ = false;
  bool writing_ = false;
  bool ended_writes_ = false;
  bool dead_ = false;
  bool saw_end_ = false;
  bool write_dead_ = false;
  size_t readable_events_ = 0;
  size_t writable_events_ = 0;
  uint64_t read_ = 0;
  uint64_t written_ = 0;
  unsigned sum_ = 0;
  std::vector<uint64_t> borrowed_;
  std::vector<std::span<std::byte>> reserved_;
  std::shared_ptr<const std::span<std::byte>> memory_;
  std::unique_ptr<Rogue> rogue_;
  std::unique_ptr<RingStream> stream_;
};

class Run {
 public:
  Run(const uint8_t* data, size_t size) : input_(data, size) {}

  void all() {
    const uint8_t who = input_.next();
    for (int i = 0; i < 1 + (who >> 2 & 1); ++i) {
      const Side side = (who >> i & 1) != 0 ? Side::kAcceptor : Side::kConnector;
      connections_.push_back(std::make_unique<Connection>(input_, reactor_, side));
      if ((who >> (3 + i) & 1) != 0) greet_honestly(*connections_.back());
    }
    connections_.front()->meet(*connections_.back());
    connections_.back()->meet(*connections_.front());
    for (size_t i = 0; i < kStepsMax && !input_.empty(); ++i) {
      Connection& connection = *connections_[(input_.next() & 1) % connections_.size()];
      if (input_.next() % 2 == 0) {
        rogue_step(connection.rogue());
      } else {
        step(connection);
      }
    }
    end();
  }

 private:
  // Runs one iteration. The posted work keeps the reactor from sleeping for ever if no event is
  // due.
  void iterate() {
    reactor_.post([] {});
    reactor_.iterate();
  }

  void greet_honestly(Connection& connection) {
    static constexpr uint8_t kNoLies[] = {0, 0};
    FuzzInput honest(kNoLies, sizeof kNoLies);
    std::swap(input_, honest);
    connection.rogue().greet();
    iterate();
    connection.rogue().take_memory();
    std::swap(input_, honest);
    require(connection.rogue().mapped(), "who greets rightly gets no memory");
  }

  void rogue_step(Rogue& rogue) {
    switch (input_.next() % 16) {
      case 0:
        return rogue.greet();
      case 1:
        return rogue.take_memory();
      case 2:
      case 3:
        return rogue.send_bytes(size_t{input_.next()} * (1 + input_.next()) * 2);
      case 4:
      case 5:
        return rogue.take_bytes();
      case 6:
        return rogue.end_writes();
      case 7:
        return rogue.sleep();
      case 8:
      case 9:
      case 10:
        return rogue.store_anything();
      case 11:
        return rogue.flood();
      case 12:
        return rogue.ring_with_descriptors();
      case 13:
        return rogue.drain();
      case 14:
        return rogue.punch_hole();
      default:
        return input_.next() % 4 == 0 ? rogue.hang_up() : rogue.half_close();
    }
  }

  void step(Connection& connection) {
    switch (input_.next() % 18) {
      case 0:
      case 1:
        return iterate();
      case 2:
        connection.read(size_t{input_.next()} * (1 + input_.next()));
        return;
      case 3:
        connection.write(size_t{input_.next()} * (1 + input_.next()), 1 + input_.next() % 3);
        return;
      case 4:
        return connection.want_read(input_.next() % 4 != 0);
      case 5:
        return connection.want_write(input_.next() % 4 != 0);
      case 6:
        return connection.shutdown_write();
      case 7:
        return connection.abort_on_close();
      case 8:
        return connection.read_again();
      case 9:
        return connection.check_events([this] { iterate(); });
      case 10:
        return connection.check_heard([this] { iterate(); });
      case 11:
        return connection.behave(input_.next());
      case 12:
      case 13:
        connection.read_in_place(size_t{input_.next()} * (1 + input_.next()),
                                 input_.next() % 2 != 0);
        return;
      case 14:
        connection.look_at_memory();
        return connection.give_back(input_.next());
      case 15:
        return connection.reserve(size_t{input_.next()} * (1 + input_.next()));
      case 16:
        connection.ask_for_shortage(size_t{input_.next()} << 12);
        return connection.end_reservation(input_.next(), input_.next() % 4 != 0);
      default:
        if (input_.next() % 8 == 0) connection.end();
    }
  }

  void end() {
    for (const auto& connection : connections_) connection->rogue().hang_up();
    for (const auto& connection : connections_) {
      connection->behave(kOnlyReads);
      connection->want_write(false);
      connection->want_read(true);
      // Needs many iterations: the stream first reads a few doorbells per iteration, then the bytes
      // in the ring, then the end.
      for (int i = 0; i < kIterationsMax && connection->lives(); ++i) iterate();
      require(!connection->lives(), "the other side has gone, and the stream has no end");
    }
  }

  FuzzInput input_;
  LibeventReactor reactor_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace
}  // namespace hat

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FLAGS_minloglevel = google::GLOG_FATAL;  // otherwise the streams would log every violation
  const size_t before = hat::open_descriptors();
  hat::Run(data, size).all();
  hat::require(hat::open_descriptors() == before, "descriptors are left");
  return 0;
}
