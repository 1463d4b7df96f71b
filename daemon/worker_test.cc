#include "daemon/worker.h"

#include <gmock/gmock.h>

#include "daemon/fake_node.h"

namespace hat {
namespace {

using engine::FrameKind;
using testing::HasSubstr;

TEST(Worker, SurvivesALinkThatBreaksWhileTheTurnsFramesAreWritten) {
  FakeNode node;
  std::vector<FakeNode::Wire> links;
  for (int i = 0; i < 3; ++i) {
    links.push_back(node.connect_link());
    node.receive(links.back(), hello_bytes("host-b", "host-a"));
  }
  for (const auto& link : links) link->incoming = frame_bytes({.kind = FrameKind::kPing});
  for (const auto& link : links) FakeNode::read(link);  // each owes a pong, written at turn's end
  links[0]->error = links[1]->error = EPIPE;
  links[2]->written.clear();
  node.reactor.end_turn();
  EXPECT_EQ(links[2]->written, frame_bytes({.kind = FrameKind::kPong}));
  node.reactor.end_turn();
  EXPECT_TRUE(links[0]->closed);
  EXPECT_TRUE(links[1]->closed);
  EXPECT_FALSE(links[2]->closed);
}

TEST(Worker, AnswersAStreamForAServiceThatItDoesNotServe) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  node.receive(link, frame_bytes({.kind = FrameKind::kOpen, .stream = 1}, "Nothing"));
  EXPECT_THAT(link->written, HasSubstr("node host-a serves no 'Nothing'"));
}

TEST(Worker, RefusesAPeerThatTakesItForAnotherNode) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-x"));
  EXPECT_THAT(link->written, HasSubstr("this is node 'host-a', not 'host-x'"));
  node.reactor.end_turn();
  EXPECT_TRUE(link->closed);
}

}  // namespace
}  // namespace hat
