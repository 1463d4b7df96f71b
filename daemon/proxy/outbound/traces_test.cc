// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/traces_test.cc: the spans of calls whose clients send a trace context, and
// the trace context that the server gets.
#include <gmock/gmock.h>

#include "daemon/proxy/fake_pair.h"
#include "daemon/proxy/outbound/client_connection.h"

namespace hat {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using ::testing::HasSubstr;

constexpr std::string_view kTraceDigits = "0af7651916cd43dd8448eb211c80319c";
constexpr std::string_view kParentDigits = "b7ad6b7169203331";

std::string traceparent(std::string_view parent, std::string_view flags = "01",
                        std::string_view version = "00") {
  std::string text(version);
  for (const std::string_view part : {kTraceDigits, parent, flags}) text.append("-").append(part);
  return text;
}

std::string be(uint64_t value, int bytes) {
  std::string text;
  while (--bytes >= 0) text += static_cast<char>(value >> (8 * bytes));
  return text;
}

// Returns a message under THeader with the info header `traceparent`, or without info headers if
// `text` is empty.
std::string headed(const std::string& framed_message, const std::string& text) {
  std::string words = "\0\0"s;
  if (!text.empty()) words += "\1\1\x0btraceparent"s + static_cast<char>(text.size()) + text;
  words.resize((words.size() + 3) / 4 * 4);
  const std::string body =
      "\x0f\xff\0\0\0\0\0\7"s + be(words.size() / 4, 2) + words + framed_message.substr(4);
  return be(body.size(), 4) + body;
}

template <size_t kDigits>
std::string text_of(const std::array<char, kDigits>& id) {
  return {id.data(), id.size()};
}

class Traces : public testing::Test {
 protected:
  // Makes a call, and returns the request that the server has got.
  std::string request_after(const std::string& request) {
    write(request);
    pair_.pass(100ms);
    std::string got = std::exchange(pair_.server_connection()->written, {});
    pair_.answer(client_, headed(get_reply(), ""));
    return got;
  }
  void write(const std::string& bytes) {
    client_->incoming += bytes;
    FakeNode::read(client_);
    pair_.reactor().end_iteration();
  }
  // Returns the only span of the client's daemon.
  Span only_span() {
    Spans& spans = pair_.caller().spans;
    const auto span = spans.pop();
    EXPECT_TRUE(span);
    EXPECT_FALSE(spans.pop());
    return span.value_or(Span{});
  }

  FakePair pair_;
  const FakePair::WirePointer client_ = pair_.connect_client();
};

TEST_F(Traces, TheServersParentIsTheSpanOfTheClientsDaemon) {
  const std::string got = request_after(headed(get_call(), traceparent(kParentDigits)));
  const Span span = only_span();
  EXPECT_EQ(got, headed(get_call(), traceparent(text_of(span.trace.span_id))));
  EXPECT_EQ(text_of(span.trace.context.trace_id), kTraceDigits);
  EXPECT_EQ(text_of(span.trace.context.parent_id), kParentDigits);
  EXPECT_EQ(span.kind, SpanKind::kClient);
  EXPECT_EQ(span.call.counters->function->method, "get");
  EXPECT_EQ(span.call.outcome, CallOutcome::kSuccess);
  EXPECT_EQ(span.call.peer, "host-b");
  EXPECT_EQ(span.call.request_bytes, got.size());
  EXPECT_GE(span.call.took, 100ms);
  EXPECT_TRUE(span.call.answered);
  EXPECT_TRUE(span.call.there);
}

TEST_F(Traces, TheSpanOfTheServersDaemonIsAChildOfTheClientsDaemons) {
  request_after(headed(get_call(), traceparent(kParentDigits)));
  Spans& spans = pair_.server().spans;
  const auto served = spans.pop();
  ASSERT_TRUE(served);
  const Span& span = *served;
  EXPECT_EQ(span.kind, SpanKind::kServer);
  EXPECT_EQ(span.trace.context.parent_id, only_span().trace.span_id);
  EXPECT_EQ(text_of(span.trace.context.trace_id), kTraceDigits);
  EXPECT_EQ(span.call.counters->function->method, "get");
  EXPECT_EQ(span.call.outcome, CallOutcome::kSuccess);
  EXPECT_GE(span.call.took, 90ms);
  EXPECT_EQ(span.call.waited, 0ms);
  ASSERT_TRUE(span.call.answered);
  EXPECT_LE(*span.call.answered, span.call.took);
}

TEST_F(Traces, ACallThatIsNotSampledIsNotChanged) {
  for (const std::string& text :
       {traceparent(kParentDigits, "00"), ""s, "nonsense"s, traceparent("0000000000000000")}) {
    const std::string request = headed(get_call(), text);
    EXPECT_EQ(request_after(request), request) << text;
    EXPECT_FALSE(pair_.caller().spans.pop()) << text;
  }
}

TEST_F(Traces, TheRecordOfACallHasItsTraceAlsoIfItIsNotSampled) {
  request_after(headed(get_call(), traceparent(kParentDigits, "00")));
  const std::vector<CallRecord> calls = pair_.caller().worker->slowest_calls();
  ASSERT_EQ(calls.size(), 1u);
  ASSERT_TRUE(calls.front().trace_id);
  EXPECT_EQ(text_of(*calls.front().trace_id), kTraceDigits);
  request_after(headed(get_call(), ""));
  for (const CallRecord& call : pair_.caller().worker->slowest_calls()) {
    if (call.began == calls.front().began) continue;
    EXPECT_FALSE(call.trace_id) << "it has no trace";
  }
}

// The daemon cannot know whether a later version permits it to replace the parent id.
TEST_F(Traces, ATextOfALaterVersionIsNotChanged) {
  const std::string request = headed(get_call(), traceparent(kParentDigits, "01", "01"));
  EXPECT_EQ(request_after(request), request);
  EXPECT_EQ(text_of(only_span().trace.context.parent_id), kParentDigits);
}

TEST_F(Traces, ARequestThatArrivesInPiecesIsChanged) {
  const std::string request = headed(get_call(), traceparent(kParentDigits));
  for (size_t cut = 1; cut < request.size(); ++cut) {
    write(request.substr(0, cut));
    pair_.pass(10ms);
    const std::string got = request_after(request.substr(cut));
    EXPECT_EQ(got, headed(get_call(), traceparent(text_of(only_span().trace.span_id)))) << cut;
  }
}

TEST_F(Traces, ALongRequestIsChanged) {
  constexpr size_t kBytes = 150'000;  // three frames
  const std::string got = request_after(headed(get_call(kBytes), traceparent(kParentDigits)));
  EXPECT_TRUE(got == headed(get_call(kBytes), traceparent(text_of(only_span().trace.span_id))));
}

TEST_F(Traces, EachCallOfAConnectionHasItsOwnSpan) {
  for (int i = 0; i < 3; ++i) {
    const std::string got = request_after(headed(get_call(), traceparent(kParentDigits)));
    EXPECT_THAT(got, HasSubstr(text_of(only_span().trace.span_id)));
    EXPECT_EQ(request_after(headed(get_call(), "")), headed(get_call(), ""));
    EXPECT_FALSE(pair_.caller().spans.pop());
  }
}

TEST_F(Traces, ACallWhoseLinkIsLostHasItsFailure) {
  pair_.send(client_, headed(get_call(), traceparent(kParentDigits)));
  pair_.pass(100ms);
  pair_.caller_link()->end = true;
  pair_.caller_link()->notify_readable();
  pair_.pass(10ms);
  const Span span = only_span();
  EXPECT_EQ(span.call.failure, engine::Failure::kLinkLost);
  EXPECT_EQ(span.call.outcome, CallOutcome::kLocalError);
}

TEST_F(Traces, ACallWhoseClientLeavesHasASpan) {
  pair_.send(client_, headed(get_call(), traceparent(kParentDigits)));
  pair_.pass(100ms);
  client_->error = ECONNRESET;
  client_->notify_readable();
  pair_.pass(10ms);
  EXPECT_EQ(only_span().call.outcome, CallOutcome::kUnknown);
}

TEST_F(Traces, EachOfSeveralCallsThatAreLostHasASpan) {
  const std::string request = headed(get_call(), traceparent(kParentDigits));
  pair_.send(client_, request + request);
  pair_.pass(100ms);
  pair_.server_replies(headed(get_reply(100'000), "").substr(0, 70'000));
  pair_.pass(50ms);
  ASSERT_FALSE(client_->written.empty());
  pair_.caller_link()->end = true;
  pair_.caller_link()->notify_readable();
  pair_.pass(10ms);
  EXPECT_TRUE(client_->aborted) << "a reply that has begun cannot be completed";
  for (int i = 0; i < 2; ++i) {
    const auto span = pair_.caller().spans.pop();
    ASSERT_TRUE(span) << i;
    EXPECT_EQ(span->call.outcome, CallOutcome::kLocalError);
    EXPECT_EQ(span->call.failure, engine::Failure::kLinkLost);
  }
  EXPECT_FALSE(pair_.caller().spans.pop());
}

TEST_F(Traces, ARequestThatTheClientCutsHasASpan) {
  const std::string request = headed(get_call(), traceparent(kParentDigits));
  write(request.substr(0, request.size() - 3));
  pair_.pass(50ms);
  client_->end = true;
  FakeNode::read(client_);
  pair_.pass(10ms);
  EXPECT_EQ(only_span().call.outcome, CallOutcome::kUnknown);
}

TEST_F(Traces, AFrameWithTwoMessagesHasOneSpan) {
  const std::string two = get_call() + get_call().substr(4);
  write(headed(two, traceparent(kParentDigits)));
  pair_.pass(50ms);
  const std::string got = pair_.server_connection()->written;
  pair_.answer(client_, headed(get_reply(), "") + headed(get_reply(), ""));
  EXPECT_EQ(got, headed(two, traceparent(text_of(only_span().trace.span_id))));
}

TEST_F(Traces, AHeaderWithinAFrameIsChanged) {
  const auto framed = [](const std::string& bytes) { return be(bytes.size(), 4) + bytes; };
  write(framed(headed(get_call(), traceparent(kParentDigits))));
  pair_.pass(50ms);
  const std::string got = pair_.server_connection()->written;
  pair_.answer(client_, framed(headed(get_reply(), "")));
  const Span span = only_span();
  EXPECT_EQ(got, framed(headed(get_call(), traceparent(text_of(span.trace.span_id)))));
  const auto served = pair_.server().spans.pop();
  ASSERT_TRUE(served);
  EXPECT_EQ(served->trace.context.parent_id, span.trace.span_id);
}

TEST(TracesOfRetries, AllAttemptsAreOneSpan) {
  FunctionSpec get{.name = "get"};
  get.hints.both.idempotent = true;
  FakePair pair(get, {.mode = UpstreamMode::kShared});
  const auto client = pair.connect_client();
  pair.send(client, headed(get_call(), traceparent(kParentDigits)));
  pair.pass(50ms);
  const auto first = pair.server_connection();
  const std::string sent = first->written;
  first->end = true;
  first->notify_readable();
  pair.pass(50ms);
  const auto second = pair.reactor().wires.back();
  ASSERT_NE(second, first);
  second->events->on_writable();
  pair.pass(50ms);
  client->error = ECONNRESET;
  client->notify_readable();
  pair.pass(10ms);
  const auto span = pair.caller().spans.pop();
  ASSERT_TRUE(span);
  EXPECT_FALSE(pair.caller().spans.pop());
  for (const std::string& attempt : {sent, second->written}) {
    EXPECT_THAT(attempt, HasSubstr(traceparent(text_of(span->trace.span_id))));
  }
}

// After the client's FIN, the daemon waits only for kServerEndWait for a reply that may never come.
TEST(TracesOfUnlistedCalls, EndWithTheWaitForTheirReplies) {
  FakeNode node{without_pings()};
  node.receive(node.peer_wire(), hello_bytes("host-b", ""));
  const auto client = node.connect_client();
  std::string unlisted = get_call();
  unlisted.replace(unlisted.find("get"), 3, "say");
  node.receive(client, headed(unlisted, traceparent(kParentDigits)));
  client->end = true;
  FakeNode::read(client);
  node.reactor.end_iteration();
  EXPECT_FALSE(node.spans.pop());
  node.reactor.advance(ClientConnection::kServerEndWait + 1s);
  EXPECT_TRUE(client->closed);
  const auto span = node.spans.pop();
  ASSERT_TRUE(span);
  EXPECT_EQ(span->call.outcome, CallOutcome::kUnknown);
  EXPECT_EQ(span->call.peer, "host-b");
  EXPECT_FALSE(node.spans.pop());
}

TEST(TracesOfOnewayCalls, EndWhenTheRequestWasSent) {
  FakePair pair({.name = "get", .oneway = true});
  const auto client = pair.connect_client();
  pair.send(client, headed(get_message('\4', 1, 8), traceparent(kParentDigits)));
  pair.pass(50ms);
  const auto span = pair.caller().spans.pop();
  ASSERT_TRUE(span);
  EXPECT_EQ(span->call.outcome, CallOutcome::kOneway);
  EXPECT_EQ(span->call.peer, "host-b");
  EXPECT_THAT(pair.server_connection()->written,
              HasSubstr(traceparent(text_of(span->trace.span_id))));
}

}  // namespace
}  // namespace hat
