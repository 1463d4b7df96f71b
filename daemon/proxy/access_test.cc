// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "daemon/proxy/fake_node.h"

// Tests which functions a peer may call, according to the manifest's `allow` rules and the names
// that the peer has proved.
namespace hat {
namespace {

using engine::Failure;
using engine::FrameKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using thrift::RequestFault;
using namespace std::string_literals;

std::string word(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

// Returns an unframed message in the strict binary encoding, with an empty struct.
std::string body_of(const std::string& name) {
  return word(0x80010001u) + word(static_cast<uint32_t>(name.size())) + name + word(0) + '\0';
}

std::string framed(const std::string& body) {
  return word(static_cast<uint32_t>(body.size())) + body;
}

// A peer that has proved to be host-b, and whose bytes each test chooses freely.
class Access : public testing::Test {
 protected:
  explicit Access(std::vector<std::string> allow = {"spiffe://p/host-c"}, bool dry_run = false,
                  std::vector<std::string> proved = {"host-b", "spiffe://p/host-b"},
                  const Limits& limits = default_limits())
      : seal_(std::move(proved)),
        node_(limits, AccessRule{std::move(allow), dry_run}, &seal_),
        link_(node_.connect_link()),
        upstreams_(0) {
    node_.receive(link_, hello_bytes("host-b", "host-a"));
    upstreams_ = node_.reactor.wires.size();
    node_.receive(link_, frame_bytes({.kind = FrameKind::kOpen, .stream = 1}, "Kv"));
    link_->written.clear();
  }

  // Sends a call, in one frame for each of `pieces`. The first frame, kCall, names the function
  // `announced`, which can differ from the function in the message.
  void call(const std::string& announced, const std::vector<std::string>& pieces) {
    ++calls_;
    for (size_t i = 0; i < pieces.size(); ++i) {
      const bool last = i + 1 == pieces.size();
      node_.receive(link_, frame_bytes({.kind = i == 0 ? FrameKind::kCall : FrameKind::kMore,
                                        .flags = last ? engine::kLastPiece : uint8_t{0},
                                        .replies = static_cast<uint16_t>(last ? 1 : 0),
                                        .stream = stream_,
                                        .call = calls_},
                                       (i == 0 ? call_meta(announced, 1) : "") + pieces[i]));
    }
  }

  // Returns the bytes that the server has received. Returns "" if the node has not connected to the
  // server, which it does when it passes the first call on.
  std::string served() {
    if (node_.reactor.wires.size() == upstreams_) return "";
    const auto wire = node_.reactor.wires.back();
    if (!wire->closed && wire->writing) wire->events->on_writable();
    return wire->written;
  }
  uint64_t refused(thrift::RequestFault fault) {
    return node_.counters.refused_requests[static_cast<size_t>(fault)].value();
  }
  // Expects that the node refused exactly one request, because of `fault`, answered with a kFail
  // frame, and sent nothing to the server.
  void expect_refused(thrift::RequestFault fault) {
    EXPECT_EQ(refused(fault), 1u) << thrift::kRequestFaultNames[static_cast<size_t>(fault)];
    uint64_t all = 0;
    for (const Counter& one : node_.counters.refused_requests) all += one.value();
    EXPECT_EQ(all, 1u);
    EXPECT_EQ(served(), "");
    const auto headers = headers_in(link_->written);
    ASSERT_FALSE(headers.empty());
    EXPECT_EQ(headers.back().kind, FrameKind::kFail);
  }
  uint64_t denied(bool dry_run) {
    return node_.metrics.find("Kv", "get").at(Side::kServer, 0).denied[dry_run].value();
  }

  FakeSeal seal_;
  FakeNode node_;
  FakeNode::Wire link_;
  size_t upstreams_;
  uint32_t stream_ = 1;
  uint64_t calls_ = 0;
};

struct AccessOfAllowed : Access {
  AccessOfAllowed() : Access({"host-x", "spiffe://p/*"}) {}

  // Reloads the routes with a rule that keeps the peer from Kv.get.
  void keep_out() {
    const FunctionSpec get{.name = "get", .access = AccessRule{{"host-x"}, false}};
    node_.worker->set_routes(std::make_shared<RoutingTable>(
        2, Manifest{"", {{"Kv", {}, {get, {.name = "put"}}, ""}}}, std::vector<std::string>{"Pool"},
        engine::HostFacts{8, 8, false, "none is here"}, node_.metrics,
        node_.worker->node().serves));
  }
};
struct AccessInADryRun : Access {
  AccessInADryRun() : Access({"host-x"}, true) {}
};
struct AccessOfNobody : Access {
  AccessOfNobody() : Access({"host-x"}, false, {}) {}
};

TEST_F(AccessOfAllowed, LetsThemCall) {
  call("get", {framed(body_of("get"))});
  EXPECT_EQ(served(), framed(body_of("get")));
  EXPECT_EQ(denied(false), 0u);
}

TEST_F(AccessOfAllowed, LetsThemSendWhatCannotBeFollowed) {
  node_.receive(link_, frame_bytes({.kind = FrameKind::kRaw, .stream = 1}, "HELLO"));
  EXPECT_EQ(served(), "HELLO");
}

// A call that is not refused is counted as one that asked for a polling mode.
TEST_F(Access, ARefusedCallChoosesNoPollingMode) {
  const std::string request = framed(body_of("get"));
  node_.receive(link_, frame_bytes({.kind = FrameKind::kCall,
                                    .flags = static_cast<uint8_t>(
                                        engine::kLastPiece | engine::polling_flags(Polling::kBusy)),
                                    .replies = 1,
                                    .stream = 1,
                                    .call = 1},
                                   call_meta("get", 1) + request));
  EXPECT_EQ(denied(false), 1u);
  for (const Counter& one : node_.counters.asked_pollings) EXPECT_EQ(one.value(), 0u);
}

TEST_F(Access, RefusesWhoIsNotAllowedAndSaysSo) {
  call("get", {framed(body_of("get"))});
  EXPECT_EQ(served(), "");
  ASSERT_EQ(headers_in(link_->written).size(), 1u);
  EXPECT_EQ(headers_in(link_->written)[0].kind, FrameKind::kFail);
  EXPECT_THAT(link_->written, HasSubstr("peer host-b may not call it"));
  EXPECT_EQ(denied(false), 1u);
  const auto reason = static_cast<size_t>(engine::Failure::kPermissionDenied);
  EXPECT_EQ(node_.counters.local_replies[reason].value(), 1u);
}

TEST_F(Access, GoesOnWithCallsThatHaveNoRule) {
  call("get", {framed(body_of("get"))});
  call("put", {framed(body_of("put"))});
  EXPECT_EQ(served(), framed(body_of("put")));
}

TEST_F(Access, RefusesAFunctionThatWasAnnouncedAsAnother) {
  call("put", {framed(body_of("get"))});
  EXPECT_EQ(served(), "");
  EXPECT_THAT(link_->written, HasSubstr("may not call it"));
}

TEST_F(Access, RefusesAFunctionBehindAnotherService) {
  call("put", {framed(body_of("Kv:get"))});
  EXPECT_EQ(served(), "");
}

// Thrift's C++ library ignores empty parts of a name, so a server takes "Kv::get" for "Kv:get". The
// daemon must refuse such names.
TEST_F(Access, RefusesNamesThatServersReadDifferently) {
  uint64_t count = 0;
  for (const char* name : {"Kv::get", "Kv:put:", ":Kv:put", "put:", ":put", "Kv:put:x", "No:put"}) {
    call("put", {framed(body_of(name))});
    EXPECT_EQ(refused(RequestFault::kNotListed), ++count) << name;
  }
  EXPECT_EQ(served(), "");
}

TEST_F(Access, RefusesASecondMessageInAFrame) {
  call("put", {framed(body_of("put") + body_of("get"))});
  expect_refused(RequestFault::kNotOneMessage);
}

// The daemon cannot read a function's name of more than 255 bytes, but a stock server can. The
// server could find messages after it that the daemon does not see, so the frame must be refused.
TEST_F(Access, RefusesASecondMessageThatTheReaderCannotFollow) {
  call("put", {framed(body_of("put") + body_of(std::string(256, 'x')) + body_of("get"))});
  expect_refused(RequestFault::kNotOneMessage);
}

TEST_F(Access, RefusesASecondMessageInAnotherEncoding) {
  const std::string old = word(3) + "get" + '\1' + word(0) + '\0';
  call("put", {framed(body_of("put") + old)});
  expect_refused(RequestFault::kNotOneMessage);
}

// The argument is a list of bytes, and the bytes are a call of `get`. A server that expects another
// type for this argument could take the bytes for a message, so the call must be refused.
TEST_F(Access, RefusesACallInAnArgumentOfAnotherType) {
  const std::string hidden = body_of("get");
  const std::string list =
      std::string("\x0f\0\1", 3) + '\3' + word(uint32_t(hidden.size())) + hidden;
  const std::string body = body_of("put");
  call("put", {framed(body.substr(0, body.size() - 1) + list + '\0')});
  expect_refused(RequestFault::kWrongType);
}

TEST_F(Access, RefusesAnArgumentThatTheManifestDoesNotHave) {
  const std::string body = body_of("put");
  call("put", {framed(body.substr(0, body.size() - 1) + std::string("\2\0\2\1", 4) + '\0')});
  expect_refused(RequestFault::kUnknownField);
  EXPECT_THAT(link_->written,
              HasSubstr("field 2 in the arguments of Kv.put, which the manifest does "
                        "not have"));
}

TEST_F(Access, RefusesAReplyInPlaceOfACall) {
  std::string body = body_of("put");
  body[3] = 2;
  call("put", {framed(body)});
  expect_refused(RequestFault::kUnusualHead);
}

TEST_F(Access, RefusesFunctionsThatNoManifestLists) {
  call("other", {framed(body_of("other"))});
  expect_refused(RequestFault::kNotListed);
}

TEST_F(Access, RefusesFunctionsWithoutArgumentsInTheManifest) {
  call("unsigned", {framed(body_of("unsigned"))});
  expect_refused(RequestFault::kNotListed);
}

TEST_F(Access, RefusesAnotherTransportThanTheServers) {
  stream_ = 2;
  node_.receive(link_, frame_bytes({.kind = FrameKind::kOpen, .stream = stream_}, "Pool"));
  call("put", {body_of("put")});
  expect_refused(RequestFault::kWrongTransport);
}

TEST_F(Access, RefusesAnotherProtocolThanTheServers) {
  stream_ = 2;
  node_.receive(link_, frame_bytes({.kind = FrameKind::kOpen, .stream = stream_}, "Pool"));
  call("put", {framed("\x82\x21\0\3put\0"s)});
  expect_refused(RequestFault::kWrongProtocol);
}

// The daemon must pass nothing on before it has copied and checked the whole request: the peer can
// write to the memory in which its request arrives, and could change parts that were not passed on.
TEST_F(Access, PassesNothingOnBeforeAllOfItIsChecked) {
  const std::string put = framed(body_of("put"));
  call("put", {put.substr(0, 10), put.substr(10, 5), put.substr(15)});
  EXPECT_EQ(served(), put);
  call("put", {put.substr(0, 10), put.substr(10) + 'x'});
  EXPECT_EQ(served(), put);
  EXPECT_EQ(refused(RequestFault::kNotOneMessage), 1u);
}

TEST_F(Access, ServesAgainWhatFollowsARefusedCall) {
  const std::string put = framed(body_of("put"));
  call("put", {put.substr(0, 10), "x"});
  call("put", {put});
  EXPECT_EQ(served(), put);
}

// The server's reply arrives while the daemon still holds the request. The reply must not end the
// call: otherwise the held bytes would be written to the server unchecked, before the next call.
TEST_F(Access, TakesNoReplyToACallThatTheServerHasNotReceived) {
  const std::string put = framed(body_of("put"));
  const std::string reply = framed(word(0x80010002u) + word(3) + "put" + word(1) + '\0');
  call("put", {put});
  ASSERT_EQ(served(), put);
  const auto server = node_.reactor.wires.back();
  node_.receive(server, reply);
  link_->written.clear();
  node_.receive(link_, frame_bytes({.kind = FrameKind::kCall, .stream = stream_, .call = ++calls_},
                                   call_meta("put", 1) + put.substr(0, 10)));
  node_.receive(server, word(0));  // an empty Thrift frame
  node_.receive(server, reply);
  call("put", {put});
  EXPECT_EQ(server->written, put);
  ASSERT_FALSE(headers_in(link_->written).empty());
  EXPECT_EQ(headers_in(link_->written).back().kind, FrameKind::kReset);
}

// The server sends bytes that are not Thrift. On an opaque stream the daemon could not check the
// restricted peer's requests, so the stream ends.
TEST_F(Access, EndsAStreamWhoseServerSaysWhatCannotBeFollowed) {
  call("put", {framed(body_of("put"))});
  ASSERT_NE(served(), "");
  link_->written.clear();
  node_.receive(node_.reactor.wires.back(), "HELLO");
  ASSERT_FALSE(headers_in(link_->written).empty());
  EXPECT_EQ(headers_in(link_->written).back().kind, FrameKind::kReset);
}

// One server can serve two services at one address. A message that names no service must obey the
// rules of both services, because the peer chooses the service of the stream.
TEST_F(Access, HoldsANameWithoutAServiceAgainstEveryServiceOfTheServer) {
  node_.receive(link_, frame_bytes({.kind = FrameKind::kOpen, .stream = 2}, "Pool"));
  stream_ = 2;
  call("get", {framed(body_of("get"))});
  expect_refused(RequestFault::kNotAllowed);
  EXPECT_EQ(denied(false), 1u) << "as Kv.get";
}

// The server has a part of a request that arrived before the rule took effect. The newest request
// was not passed on, so it fails with permission_denied. The server can have executed the earlier
// request, so the earlier request fails with upstream_closed.
TEST_F(AccessOfAllowed, EndsAConnectionThatBeganBeforeTheRule) {
  const std::string half = framed(body_of("put")).substr(0, 10);
  call("put", {half});
  EXPECT_EQ(served(), half);
  keep_out();
  link_->written.clear();
  call("put", {framed(body_of("put"))});
  EXPECT_EQ(served(), half);
  EXPECT_THAT(failures_in(link_->written),
              ElementsAre(ReportedFailure{FrameKind::kFail, 2, Failure::kPermissionDenied},
                          ReportedFailure{FrameKind::kReset, 0, Failure::kUpstreamClosed}));
}

TEST_F(AccessOfAllowed, EndsARequestThatTheRuleInterrupts) {
  const std::string whole = framed(body_of("put"));
  const std::string head = call_meta("put", 1) + whole.substr(0, 10);
  node_.receive(link_, frame_bytes({.kind = FrameKind::kCall, .stream = 1, .call = 1}, head));
  EXPECT_EQ(served(), whole.substr(0, 10));
  keep_out();
  node_.receive(link_, frame_bytes({.kind = FrameKind::kMore,
                                    .flags = engine::kLastPiece,
                                    .replies = 1,
                                    .stream = 1,
                                    .call = 1},
                                   whole.substr(10)));
  EXPECT_EQ(served(), whole.substr(0, 10));
  EXPECT_THAT(failures_in(link_->written),
              ElementsAre(ReportedFailure{FrameKind::kFail, 1, Failure::kPermissionDenied},
                          ReportedFailure{FrameKind::kReset, 0, Failure::kUpstreamClosed}));
}

// No rule restricted the peer when its request arrived, so the request was not checked. The request
// still waits for a connection when the new rule takes effect, and must not be passed on.
TEST_F(AccessOfAllowed, EndsWhatWaitsForAConnectionWhenTheRuleComes) {
  for (const uint32_t stream : {2u, 3u, 4u}) {  // the pool has two connections; one call waits
    node_.receive(link_, frame_bytes({.kind = FrameKind::kOpen, .stream = stream}, "Pool"));
    stream_ = stream;
    call("get", {framed(body_of("get"))});
  }
  link_->written.clear();
  keep_out();
  node_.reactor.end_iteration();
  EXPECT_THAT(failures_in(link_->written),
              ElementsAre(ReportedFailure{FrameKind::kFail, 3, Failure::kPermissionDenied},
                          ReportedFailure{FrameKind::kReset, 0, Failure::kUpstreamClosed}));
}

TEST_F(Access, IsAskedAgainAfterAReload) {
  call("get", {framed(body_of("get"))});
  EXPECT_EQ(refused(RequestFault::kNotAllowed), 1u);
  node_.worker->set_routes(std::make_shared<RoutingTable>(
      2, Manifest{"", {{"Kv", {}, {{.name = "get"}}, ""}}}, std::vector<std::string>{"Pool"},
      engine::HostFacts{8, 8, false, "none is here"}, node_.metrics, node_.worker->node().serves));
  call("get", {framed(body_of("get"))});
  EXPECT_EQ(served(), framed(body_of("get")));
}

TEST_F(Access, LetsUnknownScalarsThroughWhereTheManifestSaysSo) {
  const AccessRule rule{{"host-x"}, false};
  const FunctionSpec get{.name = "get", .arguments = FieldSpecs{}, .access = rule};
  const FunctionSpec put{.name = "put", .arguments = FieldSpecs{}};
  node_.worker->set_routes(std::make_shared<RoutingTable>(
      2,
      Manifest{"",
               {{.name = "Kv", .functions = {get, put}, .allow_unknown_fields = true},
                {.name = "Pool", .functions = {get}}}},
      std::vector<std::string>{}, engine::HostFacts{8, 8, false, "none is here"}, node_.metrics,
      node_.worker->node().serves));
  const std::string body = body_of("put");
  const std::string flag = body.substr(0, body.size() - 1) + std::string("\2\0\2\1", 4) + '\0';
  call("put", {framed(flag)});
  EXPECT_EQ(served(), framed(flag));
  call("put", {framed(body.substr(0, body.size() - 1) + std::string("\x0c\0\2", 3) + "\0\0"s)});
  EXPECT_EQ(served(), framed(flag));
  EXPECT_EQ(refused(RequestFault::kUnknownField), 1u);
}

struct AccessWithSmallLimits : Access {
  static Limits limits() {
    Limits limits = default_limits();
    limits.checked_request_bytes_max = 600'000;
    return limits;
  }
  AccessWithSmallLimits() : Access({"host-x"}, false, {"host-b"}, limits()) {}
  std::string put_of(size_t bytes) {
    const std::string body = body_of("put");
    return framed(body.substr(0, body.size() - 1) + std::string("\x0b\0\1", 3) +
                  word(static_cast<uint32_t>(bytes)) + std::string(bytes, 'x') + '\0');
  }
  std::vector<std::string> pieces_of(const std::string& text) {
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size(); at += 60'000) pieces.push_back(text.substr(at, 60'000));
    return pieces;
  }
};

// The request is larger than a stream's window, so the daemon must grant credit for the rest before
// it passes any part of the request on.
TEST_F(AccessWithSmallLimits, HoldsAsMuchAsTheLimit) {
  const std::string put = put_of(550'000);
  call("put", pieces_of(put));
  EXPECT_EQ(served(), put);
  call("put", pieces_of(put));
  EXPECT_EQ(served().size(), 2 * put.size());
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
}

TEST_F(AccessWithSmallLimits, RefuseMoreThanThat) {
  call("put", pieces_of(put_of(650'000)));
  expect_refused(RequestFault::kTooLarge);
  call("put", pieces_of(put_of(10)));
  EXPECT_EQ(served(), put_of(10));
}

// A stream in shared mode makes one call at a time, so the daemon holds the later requests until
// the first call is answered.
TEST_F(Access, KeepsNothingOfAHeldMessageThatItRefuses) {
  stream_ = 2;
  node_.receive(link_, frame_bytes({.kind = FrameKind::kOpen, .stream = stream_}, "Pool"));
  const std::string good = framed(body_of("put"));
  const std::string bad = framed(body_of("Kv:get"));
  call("put", {good});
  call("put", {bad.substr(0, bad.size() - 2), bad.substr(bad.size() - 2)});
  call("put", {good.substr(0, 9), good.substr(9)});
  ASSERT_EQ(served().size(), good.size());
  EXPECT_THAT(link_->written, HasSubstr("may not call it"));
  const std::string id = served().substr(good.size() - 5, 4);
  const auto server = node_.reactor.wires.back();
  node_.receive(server, framed(word(0x80010002u) + word(3) + "put" + id + '\0'));
  EXPECT_EQ(server->written.size(), 2 * good.size());
  EXPECT_THAT(server->written, Not(HasSubstr("Kv:get")));
}

TEST_F(Access, RefusesWhatIsNoWholeRequest) {
  for (const std::string& bytes :
       {std::string("no Thrift at all"), framed(body_of("put")).substr(0, 12),
        framed(body_of("put")) + framed(body_of("put"))}) {
    link_->written.clear();
    call("put", {bytes});
    EXPECT_THAT(link_->written, HasSubstr("did not send exactly one whole message")) << bytes;
  }
  EXPECT_EQ(served(), "");
}

TEST_F(Access, RefusesWhatCannotBeFollowed) {
  node_.receive(link_, frame_bytes({.kind = FrameKind::kRaw, .stream = 1}, framed(body_of("get"))));
  EXPECT_EQ(served(), "");
  EXPECT_THAT(link_->written, HasSubstr("bytes that cannot be followed"));
}

TEST_F(AccessInADryRun, ServesAndCounts) {
  call("get", {framed(body_of("get"))});
  EXPECT_EQ(served(), framed(body_of("get")));
  EXPECT_EQ(denied(true), 1u);
  EXPECT_EQ(denied(false), 0u);
}

TEST_F(AccessOfNobody, RefusesAndSaysThatNothingWasProved) {
  call("get", {framed(body_of("get"))});
  EXPECT_EQ(served(), "");
  EXPECT_THAT(link_->written,
              HasSubstr("peer host-b, whose identity is not verified (link.tls), may not"));
}

// A peer of an older link version does not know the failure permission_denied, so its client would
// wait for ever. The daemon must send such a peer the failure unknown_service instead.
TEST(AccessOfAnOlderPeer, IsRefusedWithAReasonThatItKnows) {
  FakeNode node(default_limits(), AccessRule{{"host-x"}, false});
  const auto link = node.connect_link();
  const auto hello =
      engine::encode({.version_max = 2, .generation = 1, .node = "host-b", .peer = "host-a"});
  node.receive(link, frame_bytes({.kind = FrameKind::kHello},
                                 {reinterpret_cast<const char*>(hello.data()), hello.size()}));
  node.receive(link, frame_bytes({.kind = FrameKind::kOpen, .stream = 1}, "Kv"));
  link->written.clear();
  node.receive(link, frame_bytes({.kind = FrameKind::kCall,
                                  .flags = engine::kLastPiece,
                                  .replies = 1,
                                  .stream = 1,
                                  .call = 1},
                                 call_meta("get", 1, engine::kLinkVersionOfDenials - 1) +
                                     framed(body_of("get"))));
  ASSERT_GT(link->written.size(), sizeof(engine::FrameHeader));
  EXPECT_EQ(static_cast<engine::Failure>(link->written[sizeof(engine::FrameHeader)]),
            engine::Failure::kUnknownService);
}

}  // namespace
}  // namespace hat
