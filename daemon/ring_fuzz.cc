// daemon/ring_fuzz.cc: other sides that do anything at all to their greeting, their socket and
// the shared memory; the streams over them keep their bounds, and leave nothing behind.
//
// Input: a byte for who plays what, then steps, each a byte of operation and its arguments. As long
// as another side keeps the rules (kept_rules()), what it sends must arrive, and be told.
#include <fcntl.h>
#include <glog/logging.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "client/ring/layout.h"
#include "daemon/ring_stream.h"
#include "tests/fuzz/input.h"

namespace hat {
namespace {

using namespace hatrpc::ring;

constexpr size_t kStepsMax = 400;
#ifdef STRICT
constexpr bool kItself = true;
#else
constexpr bool kItself = false;
#endif
constexpr int kTurnsMax = 20'000;
constexpr uint8_t kOnlyReads = 1;     // Connection::behave()
constexpr size_t kPieceMax = 70'000;  // more than the smallest ring holds

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "ring_fuzz: %s\n", what);
  std::abort();
}

// What byte number n of either direction is, from one who keeps the rules.
std::byte pattern(uint64_t n) { return static_cast<std::byte>(n * 7 + (n >> 8)); }

size_t open_descriptors() {
  size_t count = 0;
  for (int fd = 0; fd < 128; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

// The other side. It has the memory mapped once, as nothing makes it map the rings twice.
class Rogue {
 public:
  Rogue(FuzzInput& input, Side side, int socket) : input_(input), side_(side), socket_(socket) {}
  ~Rogue() {
    hang_up();
    if (base_ != nullptr) munmap(base_, mapped_);
    if (memory_ >= 0) close(memory_);
  }
  Rogue(const Rogue&) = delete;
  Rogue& operator=(const Rogue&) = delete;

  bool mapped() const { return base_ != nullptr; }
  bool kept_rules() const { return mapped() && kept_rules_; }
  uint64_t sent() const { return sent_; }
  bool has_sent_unread() const { return sent_ != peek(lines(other(side_)).consumed); }

  // --- The greeting ---

  void greet() {
    Greeting mine{.version = kVersion};
    std::memcpy(mine.magic, kMagic, sizeof kMagic);
    mine.ring_bytes = kRingBytesMin;
    const uint8_t lies = input_.next();
    if (lies != 0) kept_rules_ = false;
    std::vector<int> come_along;
    if (side_ == Side::kAcceptor) come_along.push_back(memory_ < 0 ? make_memory(lies) : memory_);
    if ((lies & 1) != 0) lie(reinterpret_cast<std::byte*>(&mine), sizeof mine);
    if ((lies & 2) != 0) come_along.clear();
    for (int extra = lies & 4 ? input_.next() % 12 : 0; extra > 0; --extra) {
      come_along.push_back(baggage());
    }
    send_in_pieces(reinterpret_cast<const char*>(&mine), sizeof mine, come_along);
  }

  // A connector's memory comes with the acceptor's greeting, if that has been sent.
  void take_memory() {
    if (side_ != Side::kConnector || mapped() || socket_ < 0) return;
    Greeting theirs{};
    iovec part{&theirs, sizeof theirs};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{.msg_iov = &part, .msg_iovlen = 1};
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (recvmsg(socket_, &message, MSG_DONTWAIT) != sizeof theirs) return;
    require(std::memcmp(theirs.magic, kMagic, sizeof kMagic) == 0, "it greets wrongly");
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    require((header != nullptr) == (theirs.refusal == 0), "memory comes, or a refusal");
    if (header == nullptr) return;
    std::memcpy(&memory_, CMSG_DATA(header), sizeof memory_);
    require(valid_ring_bytes(theirs.ring_bytes), "its rings have no size");
    require(ftruncate(memory_, 0) != 0 && ftruncate(memory_, 1 << 30) != 0, "its size changes");
    map(theirs.ring_bytes);
  }

  // --- By the rules ---

  void send_bytes(size_t wanted) {
    if (!kept_rules() || ended_) return;
    const uint64_t used = sent_ - peek(lines(other(side_)).consumed);
    require(used <= ring_bytes_, "it has read what was never written");
    const size_t count = std::min<size_t>(wanted, ring_bytes_ - used);
    for (size_t i = 0; i < count; ++i) ring(side_)[(sent_ + i) % ring_bytes_] = pattern(sent_ + i);
    sent_ += count;
    lines(side_).written.store(sent_);
    ring_for(kForData);
  }

  void take_bytes() {
    if (!kept_rules()) return;
    const uint64_t there = peek(lines(other(side_)).written);
    require(there - taken_ <= ring_bytes_, "it has written what there was no room for");
    for (; taken_ != there; ++taken_) {
      require(ring(other(side_))[taken_ % ring_bytes_] == pattern(taken_), "wrong bytes came");
    }
    lines(side_).consumed.store(taken_);
    ring_for(kForRoom);
  }

  void end_writes() {
    if (!kept_rules()) return;
    ended_ = true;
    lines(side_).ended.store(1 + input_.next() % 2);
    ring_for(kForData);
  }
  bool ended() const { return ended_; }

  void sleep() {
    if (mapped()) lines(side_).waits.fetch_or(input_.next() % 4);
  }

  // --- Against them ---

  void store_anything() {
    if (!mapped()) return;
    kept_rules_ = false;
    Lines& whose = lines(static_cast<Side>(input_.next() % 2));
    switch (input_.next() % 7) {
      case 0:
        return whose.written.store(any_number(peek(whose.written)));
      case 1:
        return whose.consumed.store(any_number(peek(whose.consumed)));
      case 2:
        return whose.ended.store(static_cast<uint32_t>(any_number(0)));
      case 3:
        return whose.waits.store(static_cast<uint32_t>(any_number(0)));
      case 4:
        control().ring_bytes = any_number(ring_bytes_);
        return;
      case 5:
        return lie(base_, sizeof(Control));
      default:
        return lie(base_ + kControlBytes, 2 * ring_bytes_);
    }
  }

  void flood() {
    std::array<char, 4096> bells;
    bells.fill(static_cast<char>(input_.next()));
    const size_t count = size_t{input_.next()} * 16 + 1;
    send(socket_, bells.data(), count, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  void ring_with_descriptors() {
    if (socket_ >= 0) send_with("bell", 4, std::vector<int>(1 + input_.next() % 8, baggage()));
  }
  void drain() {
    if (!mapped()) return;  // it would take the greeting
    std::array<char, 64> bells;
    while (recv(socket_, bells.data(), bells.size(), MSG_DONTWAIT) > 0 && input_.next() != 0) {
    }
  }
  // The pages go, and come back as zeros: nobody may fault.
  void punch_hole() {
    if (!mapped()) return;
    kept_rules_ = false;
    fallocate(memory_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096 * input_.next(), 65536);
  }
  void half_close() {
    kept_rules_ = false;
    shutdown(socket_, input_.next() % 3);
  }
  void hang_up() {
    kept_rules_ = false;
    if (socket_ >= 0) close(std::exchange(socket_, -1));
  }

 private:
  Control& control() const { return *reinterpret_cast<Control*>(base_); }
  Lines& lines(Side side) const { return control().sides[static_cast<size_t>(side)]; }
  std::byte* ring(Side writer) const {
    return base_ + kControlBytes + (writer == Side::kConnector ? 0 : ring_bytes_);
  }
  static uint64_t peek(const std::atomic<uint64_t>& word) { return word.load(); }

  // A descriptor that nobody asked for.
  int baggage() const { return kItself ? socket_ : STDERR_FILENO; }

  int make_memory(uint8_t lies) {
    memory_ = memfd_create("ring_fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const uint8_t how = lies & 8 ? input_.next() : 0;
    uint64_t size = kControlBytes + 2 * kRingBytesMin;
    if ((how & 1) != 0) size += static_cast<uint64_t>(input_.next() - 128) * 1024;
    if ((how & 2) != 0) size = input_.next();
    require(ftruncate(memory_, static_cast<off_t>(size)) == 0, "no memory to lie with");
    int seals = F_SEAL_GROW | F_SEAL_SHRINK;
    if ((how & 4) != 0) seals = input_.next() & 0x1f;
    fcntl(memory_, F_ADD_SEALS, seals);
    if (how == 0) map(kRingBytesMin);
    return memory_;
  }

  void map(uint64_t ring_bytes) {
    ring_bytes_ = ring_bytes;
    mapped_ = kControlBytes + 2 * ring_bytes;
    void* at = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0);
    require(at != MAP_FAILED, "the memory cannot be mapped");
    base_ = static_cast<std::byte*>(at);
  }

  void lie(std::byte* at, size_t bytes) {
    const size_t from = size_t{input_.next()} * input_.next() % bytes;
    const std::string lies = input_.next_bytes();
    std::memcpy(at + from, lies.data(), std::min(lies.size(), bytes - from));
  }

  uint64_t any_number(uint64_t now) {
    const uint8_t little = input_.next();
    switch (input_.next() % 6) {
      case 0:
        return now + little;
      case 1:
        return now - little;
      case 2:
        return now + ring_bytes_ + little - 128;
      case 3:
        return little;
      case 4:
        return UINT64_MAX - little;
      default: {
        uint64_t any = 0;
        for (int i = 0; i < 8; ++i) any = any << 8 | input_.next();
        return any;
      }
    }
  }

  void ring_for(uint32_t what) {
    if ((lines(other(side_)).waits.fetch_and(~what) & what) == 0) return;
    send(socket_, "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  void send_in_pieces(const char* from, size_t bytes, const std::vector<int>& come_along) {
    size_t first = input_.next();
    first = first == 0 || first > bytes ? bytes : first;
    send_with(from, first, come_along);
    if (first == bytes) return;
    if (input_.next() % 8 == 0) {
      kept_rules_ = false;
    } else {
      send_with(from + first, bytes - first, {});
    }
  }

  void send_with(const char* from, size_t bytes, const std::vector<int>& descriptors) {
    iovec part{const_cast<char*>(from), bytes};
    msghdr message{.msg_iov = &part, .msg_iovlen = 1};
    alignas(cmsghdr) char control[CMSG_SPACE(16 * sizeof(int))] = {};
    if (!descriptors.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size() * sizeof(int));
    }
    sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  FuzzInput& input_;
  const Side side_;
  int socket_;
  int memory_ = -1;
  std::byte* base_ = nullptr;
  size_t mapped_ = 0;
  uint64_t ring_bytes_ = 0;
  uint64_t sent_ = 0;
  uint64_t taken_ = 0;
  bool ended_ = false;
  bool kept_rules_ = true;
};

// One stream and its other side.
class Connection final : public StreamEvents {
 public:
  Connection(FuzzInput& input, LibeventReactor& reactor, Side rogue_side) {
    int sockets[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0, "no sockets");
    rogue_ = std::make_unique<Rogue>(input, rogue_side, sockets[0]);
    stream_ = std::make_unique<RingStream>(reactor, sockets[1], 0, other(rogue_side), *this);
  }

  Rogue& rogue() { return *rogue_; }
  // Neither an end nor an error was read.
  bool lives() const { return stream_ && !saw_end_; }
  void end() { stream_.reset(); }
  void behave(uint8_t how) { manner_ = how; }
  void meet(Connection& other) { other_ = &other; }

  void on_readable() override {
    require(reading_, "told of data that nobody wants");
    ++told_data_;
    answer(manner_ % 8, false);
  }
  void on_writable() override {
    require(writing_, "told of room that nobody wants");
    ++told_room_;
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
    std::vector<std::byte> room(bytes);  // as long as it may be, for AddressSanitizer to see
    const IoResult result = stream_->read(room);
    note_error(result, ECONNRESET, true);
    saw_end_ |= result.kind == IoResult::Kind::kEnd || result.kind == IoResult::Kind::kError;
    if (result.kind != IoResult::Kind::kOk) return result.kind;
    require(result.bytes >= 1 && result.bytes <= bytes, "it read more than it may");
    if (rogue_->kept_rules()) {
      for (size_t i = 0; i < result.bytes; ++i) {
        require(room[i] == pattern(read_ + i), "it read what was not sent");
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
    require(result.bytes >= 1 && result.bytes <= bytes, "it wrote more than it was given");
    written_ += result.bytes;
    return result.kind;
  }

  // After `turn`, what was not told is not there.
  template <class Turn>
  void check_told(Turn turn) {
    if (!stream_) return;
    want_write(false);
    want_read(true);
    const size_t told = told_data_;
    turn();
    if (!stream_ || !reading_ || told_data_ != told) return;
    require(read(1) == IoResult::Kind::kWouldBlock, "something came, and nobody was told");
  }

  // Whoever keeps the rules is heard, whether or not the stream was looked into before.
  template <class Turn>
  void check_heard(Turn turn) {
    if (!stream_ || !reading_ || writing_ || !rogue_->kept_rules() || rogue_->ended()) return;
    if (!rogue_->has_sent_unread()) return;
    const size_t told = told_data_;
    for (int i = 0; i < 9; ++i) turn();  // beside hot rings the kernel is asked in each 8th
    require(told_data_ != told, "a bell was rung, and not heard");
  }

 private:
  // `of_one_direction`: the error that leaves the other direction as it is.
  void note_error(const IoResult& result, int of_one_direction, bool reads) {
    const bool failed = result.kind == IoResult::Kind::kError;
    require(!dead_ || failed, "it lives again after an error");
    require(!write_dead_ || reads || failed, "it writes again after an error");
    require(failed == (result.error != 0), "errors have a number, and others none");
    if (failed && result.error != of_one_direction) dead_ = true;
    if (failed && !reads) write_dead_ = true;
  }

  void answer(uint8_t how, bool room) {
    switch (how) {
      case 0:
        read(64);
        return want_write(false);
      case 1:
        for (int i = 0; i < 8 && read(kPieceMax) == IoResult::Kind::kOk; ++i) {
        }
        return want_write(false);
      case 2:
        return room ? want_write(false) : want_read(false);
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
  size_t told_data_ = 0;
  size_t told_room_ = 0;
  uint64_t read_ = 0;
  uint64_t written_ = 0;
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
  // It would sleep for ever where nobody has anything to tell.
  void turn() {
    reactor_.post([] {});
    reactor_.turn();
  }

  void greet_honestly(Connection& connection) {
    static constexpr uint8_t kNoLies[] = {0, 0};
    FuzzInput honest(kNoLies, sizeof kNoLies);
    std::swap(input_, honest);
    connection.rogue().greet();
    turn();
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
    switch (input_.next() % 13) {
      case 0:
      case 1:
        return turn();
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
        return connection.check_told([this] { turn(); });
      case 10:
        return connection.check_heard([this] { turn(); });
      case 11:
        return connection.behave(input_.next());
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
      // Bells are heard some at a time, and what is in the ring is read, and then there is an end.
      for (int i = 0; i < kTurnsMax && connection->lives(); ++i) turn();
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
  FLAGS_minloglevel = google::GLOG_FATAL;  // it would log every misdeed
  const size_t before = hat::open_descriptors();
  hat::Run(data, size).all();
  hat::require(hat::open_descriptors() == before, "descriptors are left");
  return 0;
}
