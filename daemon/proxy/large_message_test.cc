// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/large_message_test.cc: tests that the pieces of one large Thrift message move at the
// same time: the work requests of both daemons show that all pieces are posted in one chain.
#include <gmock/gmock.h>

#include "daemon/proxy/fake_pair.h"
#include "engine/fabric/fake_fabric.h"

namespace hat {
namespace {

using engine::Opcode;
using engine::PostedChain;
using testing::ElementsAre;

constexpr size_t kLargeBytes = 250'000;
static_assert(kLargeBytes / engine::kPieceBytesMax == 3, "three full pieces and a fourth");

// Returns, for each chain that moves large pieces, the opcodes of the requests that move them.
std::vector<std::vector<Opcode>> large_pieces(const std::vector<PostedChain>& chains) {
  std::vector<std::vector<Opcode>> all;
  for (const PostedChain& chain : chains) {
    std::vector<Opcode> opcodes;
    for (const engine::PostedRequest& request : chain) {
      if (request.bytes > engine::kEagerBytesMax + sizeof(engine::Envelope)) {
        opcodes.push_back(request.opcode);
      }
    }
    if (!opcodes.empty()) all.push_back(std::move(opcodes));
  }
  return all;
}

struct LargeMessageCase {
  const char* protocol;
  Opcode opcode;  // what moves a piece
};

class LargeMessage : public testing::TestWithParam<LargeMessageCase> {
 protected:
  static FunctionSpec get() {
    FunctionSpec get{.name = "get"};
    get.hints.both.protocol = GetParam().protocol;
    return get;
  }
  // Makes a call on the lane, which an earlier call has opened. Returns what moved large pieces.
  std::vector<std::vector<Opcode>> moved(size_t request_bytes, size_t reply_bytes) {
    const std::string reply = get_reply(reply_bytes);
    chains_.clear();
    EXPECT_EQ(pair_.call(client_, get_call(request_bytes), reply), reply);
    return large_pieces(chains_);
  }

  std::vector<PostedChain> chains_;
  FakePair pair_{get(), {}, [this] { return recording(); }};
  const FakePair::WirePointer client_ = pair_.connect_client();

 private:
  Result<std::unique_ptr<engine::Fabric>> recording() {
    return std::make_unique<engine::RecordingFabric>(chains_);
  }
};

TEST_P(LargeMessage, HasAllItsPiecesInFlightAtOnce) {
  EXPECT_EQ(pair_.call(client_, get_call(), get_reply()), get_reply());  // opens the lane
  const std::vector<Opcode> four(4, GetParam().opcode);
  EXPECT_THAT(moved(kLargeBytes, 8), ElementsAre(four)) << "the request";
  EXPECT_THAT(moved(8, kLargeBytes), ElementsAre(four)) << "the reply";
}

INSTANTIATE_TEST_SUITE_P(Protocols, LargeMessage,
                         testing::Values(LargeMessageCase{"read_rndv", Opcode::kRead},
                                         LargeMessageCase{"write_rndv", Opcode::kWriteImm},
                                         LargeMessageCase{"hybrid_eager_rndv", Opcode::kWriteImm}),
                         [](const auto& row) { return std::string(row.param.protocol); });

}  // namespace
}  // namespace hat
