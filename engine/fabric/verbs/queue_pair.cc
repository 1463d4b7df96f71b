// SPDX-License-Identifier: Apache-2.0
// engine/fabric/verbs/queue_pair.cc: an RC queue pair, from its creation to its error state.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <random>

#include "base/system_error.h"
#include "engine/fabric/verbs/objects.h"

namespace hat::engine::verbs {
namespace {

constexpr uint32_t kMagic = 0x48415652;  // "HAVR"
// The contents of a QueuePairAddress.
struct Address {
  uint32_t magic = kMagic;
  uint32_t number = 0;
  uint32_t first_sequence = 0;
  uint16_t lid = 0;
  uint8_t mtu = 0;
  uint8_t by_gid = 0;
  std::array<uint8_t, 16> gid{};
};
static_assert(sizeof(Address) <= kQueuePairAddressBytes);

std::unexpected<Error> failed(const Device& device, const char* what, int error) {
  return fail_errno(device.name + ": " + what, error);
}

// Returns the `timeout` of ibv_modify_qp(3) for which the device waits at least `wait`: the device
// waits 4.096 µs * 2^timeout.
uint8_t timeout_code(std::chrono::nanoseconds wait) {
  const auto units = static_cast<uint64_t>(std::max<int64_t>(wait.count(), 1)) / 4096 + 1;
  return static_cast<uint8_t>(std::clamp<int>(static_cast<int>(std::bit_width(units - 1)), 1, 31));
}

// Returns the code of the shortest RNR timer that is at least `wait`. kMicroseconds is table 45 of
// the InfiniBand specification 1.3; code 0 is the longest time.
uint8_t rnr_code(std::chrono::nanoseconds wait) {
  constexpr std::array<int64_t, 32> kMicroseconds{
      655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,   320,
      480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240, 15360,
      20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};
  for (size_t code = 1; code < kMicroseconds.size(); ++code) {
    if (std::chrono::microseconds(kMicroseconds[code]) >= wait) return static_cast<uint8_t>(code);
  }
  return 0;
}

ibv_wr_opcode to_verbs(Opcode opcode) {
  switch (opcode) {
    case Opcode::kSendImm:
      return IBV_WR_SEND_WITH_IMM;
    case Opcode::kWrite:
      return IBV_WR_RDMA_WRITE;
    case Opcode::kWriteImm:
      return IBV_WR_RDMA_WRITE_WITH_IMM;
    case Opcode::kRead:
      return IBV_WR_RDMA_READ;
    case Opcode::kCompareSwap:
      return IBV_WR_ATOMIC_CMP_AND_SWP;
    case Opcode::kFetchAdd:
      return IBV_WR_ATOMIC_FETCH_AND_ADD;
    default:
      return IBV_WR_SEND;
  }
}

Status from_verbs(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return Status::kSuccess;
    case IBV_WC_LOC_LEN_ERR:
      return Status::kLocalLength;
    case IBV_WC_LOC_QP_OP_ERR:
      return Status::kLocalOperation;
    case IBV_WC_LOC_PROT_ERR:
      return Status::kLocalProtection;
    case IBV_WC_WR_FLUSH_ERR:
      return Status::kFlushed;
    case IBV_WC_REM_INV_REQ_ERR:
      return Status::kRemoteInvalid;
    case IBV_WC_REM_ACCESS_ERR:
      return Status::kRemoteAccess;
    case IBV_WC_REM_OP_ERR:
      return Status::kRemoteOperation;
    case IBV_WC_RETRY_EXC_ERR:
      return Status::kRetryExceeded;
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return Status::kRnrRetryExceeded;
    default:
      return Status::kOther;
  }
}

std::atomic<uint64_t> lives = 0;  // the number of queue pairs created in this process so far

uint32_t random_sequence() { return std::random_device()() & 0xffffff; }  // 24 bits

// A work request in the device's format, together with its segments.
struct Posted {
  ibv_send_wr work{};
  std::array<ibv_sge, kSegmentsMax> segments;

  void set(const WorkRequest& from, uint64_t number) {
    for (size_t i = 0; i < from.segments.size(); ++i) {
      const Segment& segment = from.segments[i];
      segments[i] = {reinterpret_cast<uint64_t>(segment.data), segment.bytes, segment.lkey};
    }
    work = {};
    work.wr_id = number;
    work.sg_list = segments.data();
    work.num_sge = static_cast<int>(from.segments.size());
    work.opcode = to_verbs(from.opcode);
    if (from.signaled) work.send_flags |= IBV_SEND_SIGNALED;
    if (from.inlined) work.send_flags |= IBV_SEND_INLINE;
    if (from.solicited) work.send_flags |= IBV_SEND_SOLICITED;
    work.imm_data = htonl(from.imm);
    if (from.opcode == Opcode::kCompareSwap || from.opcode == Opcode::kFetchAdd) {
      work.wr.atomic.remote_addr = from.remote_address;
      work.wr.atomic.compare_add = from.compare_or_add;
      work.wr.atomic.swap = from.swap;
      work.wr.atomic.rkey = from.rkey;
    } else {
      work.wr.rdma.remote_addr = from.remote_address;
      work.wr.rdma.rkey = from.rkey;
    }
  }
};

}  // namespace

// --- Set-up ---

Result<std::unique_ptr<QueuePair>> VerbsQueuePair::create(const Device& device, ibv_pd& domain,
                                                          const QueuePairOptions& options) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = static_cast<VerbsCompletionQueue&>(options.send_cq).get();
  attributes.recv_cq = static_cast<VerbsCompletionQueue&>(options.recv_cq).get();
  attributes.srq = static_cast<VerbsReceiveQueue&>(options.srq).get();
  attributes.cap.max_send_wr = options.send_entries;
  attributes.cap.max_send_sge = kSegmentsMax;
  attributes.cap.max_inline_data = options.inline_bytes_max;
  attributes.qp_type = IBV_QPT_RC;
  ibv_qp* pair = ibv_create_qp(&domain, &attributes);
  if (pair == nullptr) return failed(device, "cannot create a queue pair", errno);
  std::unique_ptr<VerbsQueuePair> made(new VerbsQueuePair(device, pair, options));
  HAT_TRY_VOID(made->initialize());
  return made;
}

VerbsQueuePair::VerbsQueuePair(const Device& device, ibv_qp* pair, const QueuePairOptions& options)
    : device_(device),
      options_(options),
      send_cq_(static_cast<VerbsCompletionQueue&>(options.send_cq)),
      recv_cq_(static_cast<VerbsCompletionQueue&>(options.recv_cq)),
      srq_(static_cast<VerbsReceiveQueue&>(options.srq)),
      first_sequence_(random_sequence()),
      life_((++lives & 0x7fffffff) << 32),
      requests_(options.send_entries),
      pair_(pair) {
  send_cq_.attach(*this);
  recv_cq_.attach(*this);
}

VerbsQueuePair::~VerbsQueuePair() {
  fail();  // after this call, the queue pair consumes no receive
  send_cq_.detach(*this);
  recv_cq_.detach(*this);
}

Result<void> VerbsQueuePair::initialize() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = device_.port;
  attributes.qp_access_flags = access_flags(options_.access);
  const int error =
      ibv_modify_qp(pair_.get(), &attributes,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (error != 0) return failed(device_, "cannot initialize the queue pair", error);
  return {};
}

QueuePairAddress VerbsQueuePair::address() const {
  Address address{.number = number(),
                  .first_sequence = first_sequence_,
                  .lid = device_.port_attributes.lid,
                  .mtu = static_cast<uint8_t>(device_.port_attributes.active_mtu),
                  .by_gid = device_.by_gid()};
  std::copy_n(device_.gid.raw, address.gid.size(), address.gid.begin());
  QueuePairAddress bytes{};
  std::memcpy(bytes.data(), &address, sizeof address);
  return bytes;
}

Result<void> VerbsQueuePair::connect(const QueuePairAddress& other) {
  if (state_ != QueuePairState::kUnconnected) {
    return hat::fail(ErrorCode::kBusy, device_.name + ": this queue pair was already connected");
  }
  Address address;
  std::memcpy(&address, other.data(), sizeof address);
  if (address.magic != kMagic) {
    return hat::fail(
        ErrorCode::kProtocol,
        device_.name + ": the peer sent a queue pair address that is not of a verbs fabric");
  }
  if ((address.by_gid != 0) != device_.by_gid()) {
    return hat::fail(ErrorCode::kUnsupported,
                     device_.name + ": one side is on InfiniBand and the other on Ethernet");
  }
  ibv_qp_attr ready{};
  ready.qp_state = IBV_QPS_RTR;
  ready.path_mtu =
      static_cast<ibv_mtu>(std::min<int>(address.mtu, device_.port_attributes.active_mtu));
  ready.dest_qp_num = address.number;
  ready.rq_psn = address.first_sequence;
  ready.max_dest_rd_atomic = device_.atomics_out;
  ready.min_rnr_timer = rnr_code(options_.rnr_timer);
  ready.ah_attr.port_num = device_.port;
  ready.ah_attr.dlid = address.lid;
  if (device_.by_gid()) {
    ready.ah_attr.is_global = 1;
    std::ranges::copy(address.gid, ready.ah_attr.grh.dgid.raw);
    ready.ah_attr.grh.sgid_index = static_cast<uint8_t>(device_.gid_index);
    ready.ah_attr.grh.hop_limit = 255;
  }
  int error = ibv_modify_qp(pair_.get(), &ready,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (error != 0) {
    return failed(device_,
                  "cannot make the queue pair ready to receive (is the other side's "
                  "address reachable from this port?)",
                  error);
  }
  ibv_qp_attr sends{};
  sends.qp_state = IBV_QPS_RTS;
  sends.timeout = timeout_code(options_.ack_timeout);
  sends.retry_cnt = options_.retries;
  sends.rnr_retry = options_.rnr_retries;
  sends.sq_psn = first_sequence_;
  sends.max_rd_atomic = device_.atomics_out;
  error = ibv_modify_qp(pair_.get(), &sends,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  if (error != 0) return failed(device_, "cannot make the queue pair ready to send", error);
  state_ = QueuePairState::kConnected;
  return {};
}

void VerbsQueuePair::fail() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ibv_modify_qp(pair_.get(), &attributes, IBV_QP_STATE);
  state_ = QueuePairState::kError;
}

// --- Transfer ---

bool VerbsQueuePair::fits(const WorkRequest& work) const {
  if (work.segments.size() > kSegmentsMax) return false;
  if (!work.inlined) return true;
  uint64_t bytes = 0;
  for (const Segment& segment : work.segments) bytes += segment.bytes;
  return bytes <= options_.inline_bytes_max;
}

size_t VerbsQueuePair::post(std::span<const WorkRequest> chain) {
  if (state_ == QueuePairState::kUnconnected) return 0;
  size_t posted = 0;
  while (posted < chain.size()) {
    const size_t some = post_some(chain.subspan(posted));
    if (some == 0) break;
    posted += some;
  }
  return posted;
}

// Posts up to 16 requests in one call of the device. Returns how many requests the device took.
size_t VerbsQueuePair::post_some(std::span<const WorkRequest> chain) {
  std::array<Posted, 16> posted;
  size_t count = 0;
  while (count < posted.size() && count < chain.size() &&
         tail_ + count - head_ < requests_.size() && fits(chain[count])) {
    const uint64_t number = (tail_ + count) % requests_.size();
    requests_[number] = {chain[count].id, chain[count].opcode, chain[count].signaled};
    posted[count].set(chain[count], number | life_ | kSendBit);
    if (count != 0) posted[count - 1].work.next = &posted[count].work;
    ++count;
  }
  if (count == 0) return 0;
  ibv_send_wr* refused = nullptr;
  if (ibv_post_send(pair_.get(), &posted[0].work, &refused) != 0) {
    size_t taken = 0;
    while (taken < count && &posted[taken].work != refused) ++taken;
    // A device that fails without naming the request that it refused is gone, so the queue pair
    // enters the error state.
    if (taken == count) state_ = QueuePairState::kError;
    count = taken;
  }
  tail_ += count;
  return count;
}

Completion VerbsQueuePair::translate_receive(const ibv_wc& from, uint64_t id, uint32_t queue_pair) {
  return {.id = id,
          .status = from_verbs(from.status),
          .opcode = from.opcode == IBV_WC_RECV_RDMA_WITH_IMM ? Opcode::kReceiveWriteImm
                                                             : Opcode::kReceive,
          .has_imm = (from.wc_flags & IBV_WC_WITH_IMM) != 0,
          .imm = ntohl(from.imm_data),
          .bytes = from.byte_len,
          .queue_pair = queue_pair};
}

bool VerbsQueuePair::translate(const ibv_wc& from, Completion& into) {
  if ((from.wr_id & kSendBit) == 0) {
    const auto id = srq_.posted()->take(from.wr_id);
    if (!id) return false;
    into = translate_receive(from, *id, number());
    if (into.status != Status::kSuccess) state_ = QueuePairState::kError;
    return true;
  }
  const uint64_t index = from.wr_id & 0xffffffff;
  const bool ours = (from.wr_id & ~uint64_t{0xffffffff}) == (life_ | kSendBit);
  if (!ours || index >= requests_.size() || head_ == tail_) return false;
  const Status status = from_verbs(from.status);
  if (status != Status::kSuccess) state_ = QueuePairState::kError;
  // Frees the entries up to the completed request: the unsignaled requests before it are done too.
  while (head_ % requests_.size() != index) ++head_;
  const Request& request = requests_[index];
  ++head_;
  into = {.id = request.id,
          .status = status,
          .opcode = request.opcode,
          .bytes = from.byte_len,
          .queue_pair = number()};
  return request.signaled || status != Status::kSuccess;
}

}  // namespace hat::engine::verbs
