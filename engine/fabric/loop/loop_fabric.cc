// SPDX-License-Identifier: Apache-2.0
#include "engine/fabric/loop/loop_fabric.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/accept_pause.h"
#include "base/system_error.h"
#include "engine/fabric/loop/barrier.h"
#include "engine/fabric/loop/objects.h"

namespace hat::engine {

Result<std::unique_ptr<Fabric>> open_loop_fabric() { return loop::LoopFabric::open(std::nullopt); }
Result<std::unique_ptr<Fabric>> open_loop_fabric_with(uint64_t seed) {
  return loop::LoopFabric::open(seed);
}
Result<std::unique_ptr<Fabric>> open_loop_fabric_in(const std::string& folder) {
  HAT_TRY(std::string identity, loop::identity_of(folder));
  loop::remove_sockets_of_the_dead(folder);
  return loop::LoopFabric::open(std::nullopt, {folder, std::move(identity)});
}

namespace loop {
namespace {

// The longest time to wait for a peer whose process is stopped in the middle of a request.
constexpr auto kPatience = std::chrono::milliseconds(100);
// The maximum number of connections from peers that no queue pair has accepted yet. If another
// connection arrives, the oldest connection is closed.
constexpr size_t kWaitingMax = 256;

std::unexpected<Error> failed(const char* what) {
  return fail_errno(std::string("loop fabric: ") + what, errno);
}

std::byte* within(std::span<std::byte> bytes, const Segment& segment) {
  if (segment.data < bytes.data() || segment.data > bytes.data() + bytes.size()) return nullptr;
  const auto space = static_cast<size_t>(bytes.data() + bytes.size() - segment.data);
  return segment.bytes <= space ? segment.data : nullptr;
}

}  // namespace

// --- Set-up ---

Result<std::unique_ptr<Fabric>> LoopFabric::open(std::optional<uint64_t> seed, Folder folder) {
  if (!use_barriers())
    return failed("membarrier (it requires Linux 4.16, and a seccomp filter must allow it)");
  HAT_TRY(ChannelListener listener, ChannelListener::open(folder.path));
  HAT_TRY(SharedMemory table, SharedMemory::create("hatrpc-regions", sizeof(RegionTable)));
  Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (epoll.get() < 0) return failed("epoll_create1");
  Descriptor alarm(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (alarm.get() < 0) return failed("timerfd_create");
  std::unique_ptr<LoopFabric> fabric(
      new LoopFabric(std::move(listener), std::move(table), std::move(epoll), std::move(alarm)));
  fabric->folder_ = std::move(folder);
  if (seed) fabric->random_.emplace(*seed);
  return fabric;
}

LoopFabric::LoopFabric(ChannelListener listener, SharedMemory table, Descriptor epoll,
                       Descriptor alarm)
    : listener_(std::move(listener)),
      table_(std::move(table)),
      epoll_(std::move(epoll)),
      alarm_(std::move(alarm)) {
  watch(listener_.fd());
  watch(alarm_.get());
}

void LoopFabric::watch(int fd) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void LoopFabric::watch_end(int fd) {
  epoll_event event{.events = 0, .data = {.fd = fd}};  // epoll reports EPOLLHUP (the end) unasked
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

// Returns the boot id of the kernel and, if the sockets have a folder, the folder's identity;
// otherwise the number of the network namespace, because abstract unix sockets connect only
// processes of one kernel and one network namespace.
std::string LoopFabric::reach() const {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  if (!folder_.path.empty()) return "loop " + boot + " folder " + folder_.identity;
  struct stat network {};
  const bool known = stat("/proc/self/ns/net", &network) == 0;
  return "loop " + boot + " " + std::to_string(known ? network.st_ino : 0);
}

FabricLimits LoopFabric::limits() const {
  constexpr uint32_t kMany = 1 << 20;
  return {.inline_bytes_max = kInlineBytesMax,
          .send_entries_max = kRingEntries,
          .receive_entries_max = kMany,
          .completion_entries_max = kMany,
          .reads_max = kRingEntries,
          .atomics = Atomicity::kHost,
          .regions_max = kRegionsMax,
          .pins = false,
          .passes_descriptors = true};
}

// The two fabrics share nothing: no peer gets a descriptor of both.
Result<std::unique_ptr<Fabric>> LoopFabric::open_domain() {
  return open(random_ ? std::optional<uint64_t>((*random_)()) : std::nullopt, folder_);
}

Result<std::unique_ptr<CompletionQueue>> LoopFabric::create_completion_queue(uint32_t) {
  HAT_TRY(Doorbell doorbell, Doorbell::create());
  return std::make_unique<LoopCompletionQueue>(std::move(doorbell));
}

Result<std::unique_ptr<ReceiveQueue>> LoopFabric::create_receive_queue(uint32_t entries) {
  return std::make_unique<LoopReceiveQueue>(entries);
}

Result<std::unique_ptr<QueuePair>> LoopFabric::create_queue_pair(const QueuePairOptions& options) {
  if (options.inline_bytes_max > kInlineBytesMax) {
    return fail(ErrorCode::kInvalid, "loop fabric: inline data of " +
                                         std::to_string(options.inline_bytes_max) +
                                         " bytes; at most " + std::to_string(kInlineBytesMax));
  }
  if (options.send_entries == 0 || options.send_entries > kRingEntries) {
    return fail(ErrorCode::kInvalid, "loop fabric: " + std::to_string(options.send_entries) +
                                         " send entries; a queue pair has 1 to " +
                                         std::to_string(kRingEntries));
  }
  const uint32_t number = ++last_queue_pair_;
  auto pair = std::make_unique<LoopQueuePair>(*this, number, options);
  queue_pairs_[number] = pair.get();
  return pair;
}

void LoopFabric::forget(LoopQueuePair& pair) {
  queue_pairs_.erase(pair.number());
  std::erase_if(waiting_, [&](const Waiting& one) {
    return one.hello && one.hello->message.target == pair.number();
  });
}

uint64_t LoopFabric::next_nonce() {
  uint64_t nonce = 0;
  if (random_) return (*random_)();
  [[maybe_unused]] const auto got = getrandom(&nonce, sizeof nonce, 0);
  return nonce;
}

// --- Memory ---

Result<std::unique_ptr<MemoryRegion>> LoopFabric::register_memory(const SharedMemory& memory,
                                                                  RemoteAccess access) {
  const auto free = std::ranges::find(regions_, nullptr);
  if (free == regions_.end()) {
    return fail(ErrorCode::kExhausted, "loop fabric: cannot register memory: all " +
                                           std::to_string(kRegionsMax) +
                                           " memory regions of the fabric are in use");
  }
  const auto row_index = static_cast<uint32_t>(free - regions_.begin());
  generation_ = generation_ % (kOwnKey / kRegionsMax - 1) + 1;
  const uint32_t key = generation_ * kRegionsMax + row_index;
  auto region = std::make_unique<LoopRegion>(*this, memory.bytes(), memory.fd(), key);
  RegionRow& row = table().rows[row_index];
  row.rights = rights_of(access);
  row.address = region->address();
  row.bytes = memory.bytes().size();
  row.key.store(key);
  *free = region.get();
  for (const auto& [number, pair] : queue_pairs_) pair->send_region(*region);
  return region;
}

LoopRegion::~LoopRegion() { fabric_.forget(*this); }

void LoopFabric::forget(LoopRegion& region) {
  const uint32_t row = region.lkey() % kRegionsMax;
  table().rows[row].key.store(0);
  regions_[row] = nullptr;
  if (table().rows[row].rights == 0) return;
  heavy_barrier();
  std::vector<LoopQueuePair*> pairs;
  for (const auto& [number, pair] : queue_pairs_) pairs.push_back(pair);
  await_settled(pairs);
}

void LoopFabric::await_settled(std::span<LoopQueuePair* const> pairs) {
  std::optional<Clock::time_point> end;
  for (const LoopQueuePair* pair : pairs) {
    while (!pair->settled()) {
      const auto now = Clock::now();
      if (now >= end.value_or(now + kPatience)) return;
      if (!end) end = now + kPatience;
      sched_yield();
    }
  }
}

std::byte* LoopFabric::local(const Segment& segment) const {
  const LoopRegion* region = regions_[segment.lkey % kRegionsMax];
  if (region == nullptr || region->lkey() != segment.lkey) return nullptr;
  return within(region->bytes(), segment);
}

Result<std::unique_ptr<MemoryRegion>> LoopFabric::register_own(std::span<std::byte> memory) {
  do {
    last_own_key_ = (last_own_key_ + 1) | kOwnKey;
  } while (own_regions_.contains(last_own_key_));
  auto region = std::make_unique<LoopOwnRegion>(*this, memory, last_own_key_);
  own_regions_[last_own_key_] = region.get();
  return region;
}

LoopOwnRegion::~LoopOwnRegion() { fabric_.forget(*this); }

std::byte* LoopFabric::own(const Segment& segment) const {
  if ((segment.lkey & kOwnKey) == 0) return local(segment);
  const auto region = own_regions_.find(segment.lkey);
  return region == own_regions_.end() ? nullptr : within(region->second->bytes(), segment);
}

// --- Events, connections and deadlines ---

std::optional<FabricEvent> LoopFabric::next_event() {
  work();
  if (events_.empty()) return std::nullopt;
  FabricEvent event = std::move(events_.front());
  events_.erase(events_.begin());
  return event;
}

void LoopFabric::work() {
  std::array<epoll_event, 16> ready;
  const int count = epoll_wait(epoll_.get(), ready.data(), ready.size(), 0);
  for (int i = 0; i < count; ++i) {
    const int fd = ready[static_cast<size_t>(i)].data.fd;
    if (fd == listener_.fd()) {
      take_channels();
      continue;
    }
    if (fd == alarm_.get()) {
      uint64_t rings = 0;
      [[maybe_unused]] const auto got = read(fd, &rings, sizeof rings);
      const auto now = Clock::now();
      for (const auto& [number, pair] : queue_pairs_) pair->check_deadline(now);
      if (accept_again_ <= now) {
        accept_again_ = Clock::time_point::max();
        watch(listener_.fd());
      }
      set_alarm();
      continue;
    }
    const auto pair = std::ranges::find_if(
        queue_pairs_, [fd](const auto& entry) { return entry.second->channel_fd() == fd; });
    if (pair == queue_pairs_.end()) continue;
    pair->second->drop_replaced();
    if (!pair->second->read_channel()) pair->second->other_is_gone();
  }
  read_waiting();
}

void LoopFabric::take_channels() {
  for (size_t i = 0; i < kWaitingMax; ++i) {
    std::optional<Channel> channel = listener_.accept();
    if (!channel) return pause_accepting();
    if (!channel->open()) return;
    if (waiting_.size() == kWaitingMax) waiting_.erase(waiting_.begin());
    watch(channel->fd());
    waiting_.push_back({std::move(*channel), std::nullopt});
  }
}

void LoopFabric::pause_accepting() {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.fd(), nullptr);
  accept_again_ = Clock::now() + kAcceptPause;
  set_alarm();
}

void LoopFabric::read_waiting() {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    bool done = false;
    if (!next->hello) {
      ReceivedMessage got;
      const Channel::Got what = next->channel.receive(got);
      if (what == Channel::Got::kMessage && got.message.kind == ChannelMessage::Kind::kHello) {
        next->hello = std::move(got);
        // Stop watching the channel until a queue pair accepts it: until then, its unread control
        // messages would wake the thread again and again.
        epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, next->channel.fd(), nullptr);
      } else {
        done = what != Channel::Got::kNothing;
      }
    }
    if (next->hello) {
      const auto pair = queue_pairs_.find(next->hello->message.target);
      const auto wants = pair == queue_pairs_.end() ? LoopQueuePair::Wants::kNever
                                                    : pair->second->wants(next->hello->message);
      if (wants == LoopQueuePair::Wants::kNow) {
        watch(next->channel.fd());
        if (!pair->second->accept(std::move(next->channel), std::move(*next->hello))) {
          pair->second->other_is_gone();
        }
      }
      done = wants != LoopQueuePair::Wants::kLater;
    }
    next = done ? waiting_.erase(next) : next + 1;
  }
}

void LoopFabric::set_alarm() {
  auto next = accept_again_;
  for (const auto& [number, pair] : queue_pairs_) next = std::min(next, pair->deadline());
  itimerspec when{};  // zeroes disarm the timer
  if (next != Clock::time_point::max()) {
    const auto left = std::max(next - Clock::now(), Clock::duration(1));
    when.it_value.tv_sec = static_cast<time_t>(left / std::chrono::seconds(1));
    when.it_value.tv_nsec = static_cast<long>((left % std::chrono::seconds(1)).count());
  }
  timerfd_settime(alarm_.get(), 0, &when, nullptr);
}

}  // namespace loop
}  // namespace hat::engine
