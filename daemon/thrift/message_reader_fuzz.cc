// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/message_reader_fuzz.cc: fuzzes MessageReader. Verifies that its events do not
// depend on how the input is split into pieces, and that libthrift finds the same ends of messages.
//
// Input: u8 number of cuts, u16 (big-endian) offset of each cut, then the stream. The target reads
// each stream three times: split at the cuts, in one piece, and byte by byte. If the first message
// is unframed and not JSON, and libthrift reads it to its end, MessageReader must find the same
// end. libthrift must be able to read the daemon's exception reply to each head that MessageReader
// finds. The client's time-out and trace context in each head must be those that
// ReferenceHeaderInfo finds in the whole unit.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <span>
#include <vector>

#include "daemon/thrift/exception_reply.h"
#include "daemon/thrift/reference_header_info.h"
#include "daemon/thrift/stock_messages.h"
#include "daemon/thrift/trace.h"

namespace hat::thrift {
namespace {

using Event = MessageReader::Event;

constexpr size_t kCutsMax = 16;
constexpr size_t kBytewiseMax = 4096;  // reading a longer stream byte by byte takes too long

[[noreturn]] void fail(const char* what, const Trace& expected, const Trace& got) {
  std::cerr << what << "\n  expected" << expected << "\n  got" << got << "\n";
  std::abort();
}

void check_splits(std::span<const std::byte> stream, std::span<const size_t> cuts,
                  const Trace& whole) {
  if (const auto split = trace(stream, cuts); split != whole) fail("cuts matter", whole, split);
  if (stream.size() > kBytewiseMax) return;
  std::vector<size_t> every(stream.size());
  std::iota(every.begin(), every.end(), 0);
  if (const auto split = trace(stream, every); split != whole) fail("bytewise", whole, split);
}

void check_libthrift(std::string_view stream, const Trace& whole) {
  if (whole.seen.empty() || whole.seen[0].event != Event::kHead) return;
  const Seen& head = whole.seen[0];
  if (head.framing != Framing::kUnframed || head.encoding == Encoding::kJson) return;
  const auto bytes = stock_message_bytes(head.encoding, stream);
  if (!bytes) return;
  Trace expected{.seen = {head, {.event = Event::kEnd, .at = *bytes}}};
  const bool agrees =
      whole.seen.size() >= 2 && whole.seen[1].event == Event::kEnd && whole.seen[1].at == *bytes;
  if (!agrees) fail("libthrift ends elsewhere", expected, whole);
}

void check_answer(const Seen& seen) {
  const Head head{.framing = seen.framing,
                  .encoding = seen.encoding,
                  .type = seen.type,
                  .seqid = seen.seqid,
                  .name = seen.name,
                  .frame_bytes = seen.frame_bytes,
                  .header_flags = seen.header_flags,
                  .header_seqid = seen.header_seqid};
  const ExceptionReply reply(head, ExceptionCode::kInternalError, seen.name);
  const auto got = trace(reply.bytes());
  Seen expected = seen;
  expected.type = MessageType::kException;
  expected.name = bare_name(seen.name);
  expected.client_timeout_ms = 0;
  expected.trace.reset();
  expected.trace_at = 0;
  if (seen.encoding == Encoding::kBinaryOld) expected.encoding = Encoding::kBinary;
  if (seen.framing != Framing::kUnframed) {
    expected.frame_bytes = static_cast<uint32_t>(reply.bytes().size());
  }
  if (!got.seen.empty()) expected.at = got.seen[0].at;
  const Trace answer{.seen = {expected,
                              {.event = Event::kEnd,
                               .at = reply.bytes().size(),
                               .outcome = Outcome::kApplicationException}}};
  if (got != answer) fail("our answer is not read back", answer, got);
}

void check_info_headers(std::string_view stream, const Trace& whole) {
  size_t unit = 0;
  for (const auto& seen : whole.seen) {
    if (seen.event == Event::kEnd) unit = seen.at;
    if (seen.event != Event::kHead) continue;
    Seen expected = seen;
    expected.client_timeout_ms = expected.trace_at = 0;
    expected.trace.reset();
    if (has_header(seen.framing)) {
      const ReferenceHeaderInfo info(stream.substr(unit), seen.framing);
      expected.client_timeout_ms = info.client_timeout_ms();
      expected.trace = info.trace(expected.trace_at);
    }
    if (seen != expected) {
      fail("the reference finds other info headers", {.seen = {expected}}, {.seen = {seen}});
    }
  }
}

void check(std::span<const uint8_t> input) {
  if (input.empty()) return;
  const size_t count = std::min<size_t>(input[0] % (kCutsMax + 1), (input.size() - 1) / 2);
  const auto stream = input.subspan(1 + 2 * count);
  std::vector<size_t> cuts;
  for (size_t i = 0; i < count; ++i) {
    cuts.push_back((input[1 + 2 * i] * size_t{256} + input[2 + 2 * i]) % (stream.size() + 1));
  }
  std::ranges::sort(cuts);
  const std::string_view text(reinterpret_cast<const char*>(stream.data()), stream.size());
  const auto whole = trace(text);
  check_splits(std::as_bytes(stream), cuts, whole);
  check_libthrift(text, whole);
  check_info_headers(text, whole);
  for (const auto& seen : whole.seen) {
    if (seen.event == Event::kHead) check_answer(seen);
  }
}

}  // namespace
}  // namespace hat::thrift

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hat::thrift::check({data, size});
  return 0;
}
