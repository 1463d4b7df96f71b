// SPDX-License-Identifier: Apache-2.0
#include "engine/fabric/conformance.h"

#include <cstring>

namespace hat::engine {

FabricSide::FabricSide(OpenFabric open, RemoteAccess access) {
  auto opened = open();
  if (!opened) throw std::runtime_error(opened.error().message);
  fabric = std::move(*opened);
  memory = std::make_unique<SharedMemory>(*SharedMemory::create("conformance", kMemoryBytes));
  region = *fabric->register_memory(*memory, access);
  cq = *fabric->create_completion_queue(1024);
  srq = *fabric->create_receive_queue(kReceives);
}

QueuePairOptions FabricSide::options() {
  return {.send_cq = *cq,
          .recv_cq = *cq,
          .srq = *srq,
          .send_entries = 128,
          .inline_bytes_max = 64,
          .access = {.write = true, .read = true, .atomic = true}};
}

std::unique_ptr<QueuePair> FabricSide::make_queue_pair(QueuePairOptions options) {
  auto made = fabric->create_queue_pair(options);
  if (!made) throw std::runtime_error(made.error().message);
  return std::move(*made);
}

Segment FabricSide::at(size_t offset, size_t bytes) const {
  return {region->bytes().data() + offset, static_cast<uint32_t>(bytes), region->lkey()};
}

void FabricSide::receive(uint64_t id, size_t offset, size_t bytes) {
  const Segment segment = at(offset, bytes);
  const ReceiveRequest request{.id = id, .segments = {&segment, 1}};
  ASSERT_EQ(srq->post({&request, 1}), 1u);
}

void FabricSide::fill(size_t offset, const std::string& text) {
  std::memcpy(region->bytes().data() + offset, text.data(), text.size());
}

std::string FabricSide::read(size_t offset, size_t bytes) const {
  return {reinterpret_cast<const char*>(region->bytes().data()) + offset, bytes};
}

uint64_t FabricSide::word(size_t offset) const {
  uint64_t value = 0;
  std::memcpy(&value, region->bytes().data() + offset, sizeof value);
  return value;
}

void FabricSide::iterate() {
  while (fabric->next_event()) {
  }
  std::array<Completion, 16> some;
  const size_t count = cq->poll(some);
  completions.insert(completions.end(), some.begin(), some.begin() + count);
}

void FabricConformance::connect(RemoteAccess access, void (*change)(QueuePairOptions&)) {
  a_ = std::make_unique<FabricSide>(GetParam(), access);
  b_ = std::make_unique<FabricSide>(GetParam(), access);
  for (FabricSide* side : {a_.get(), b_.get()}) {
    QueuePairOptions options = side->options();
    if (change != nullptr) change(options);
    side->qp = side->make_queue_pair(options);
  }
  for (auto [side, other] : {std::pair(a_.get(), b_.get()), std::pair(b_.get(), a_.get())}) {
    const auto connected = side->qp->connect(other->qp->address());
    ASSERT_TRUE(connected) << connected.error().message;
  }
}

void FabricConformance::iterate() {
  for (FabricSide* side : {a_.get(), b_.get()}) {
    if (side != nullptr) side->iterate();
  }
}

void FabricConformance::wait_for(FabricSide& side, size_t count) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (side.completions.size() < count) {
    iterate();
    ASSERT_LT(std::chrono::steady_clock::now(), end)
        << side.completions.size() << " of " << count << " completions came";
  }
}

Status FabricConformance::status_of_one(const WorkRequest& work) {
  const size_t before = a_->completions.size();
  EXPECT_EQ(a_->qp->post({&work, 1}), 1u);
  wait_for(*a_, before + 1);
  return a_->completions.size() > before ? a_->completions[before].status : Status::kOther;
}

std::vector<uint64_t> ids(const std::vector<Completion>& completions) {
  std::vector<uint64_t> all;
  for (const Completion& completion : completions) all.push_back(completion.id);
  return all;
}

}  // namespace hat::engine
