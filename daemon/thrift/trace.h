// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/trace.h: records the events that a MessageReader returns for given bytes; for tests
// only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/thrift/message_reader.h"
#include "daemon/thrift/trace_context.h"

namespace hat::thrift {

struct Seen {
  MessageReader::Event event = MessageReader::Event::kNeedMore;
  size_t at = 0;  // offset in the stream of the first byte after the event
  Framing framing = Framing::kUnframed;
  Encoding encoding = Encoding::kBinary;
  MessageType type = MessageType::kCall;
  int32_t seqid = 0;
  std::string name;
  uint32_t frame_bytes = 0;
  uint16_t header_flags = 0;
  uint32_t header_seqid = 0;
  uint32_t client_timeout_ms = 0;
  std::optional<TraceContext> trace;
  uint32_t trace_at = 0;
  Outcome outcome = Outcome::kSuccess;  // set for kEnd
  std::string reason;                   // set for kOpaque

  bool operator==(const Seen&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  constexpr std::string_view kEvents[] = {"need_more", "head", "end", "opaque"};
  return out << kEvents[static_cast<int>(seen.event)] << "@" << seen.at << " framing "
             << static_cast<int>(seen.framing) << " encoding " << static_cast<int>(seen.encoding)
             << " type " << static_cast<int>(seen.type) << " seqid " << seen.seqid << " '"
             << seen.name << "' frame " << seen.frame_bytes << " flags " << seen.header_flags
             << " header seqid " << seen.header_seqid << " client time-out "
             << seen.client_timeout_ms << " trace context at " << seen.trace_at << " outcome "
             << static_cast<int>(seen.outcome) << " " << seen.reason;
}

struct Trace {
  std::vector<Seen> seen;
  bool inside_unit = false;  // MessageReader::inside_unit() after the last byte

  bool operator==(const Trace&) const = default;
  size_t count(MessageReader::Event event) const {
    return static_cast<size_t>(std::ranges::count(seen, event, &Seen::event));
  }
};

inline std::ostream& operator<<(std::ostream& out, const Trace& trace) {
  for (const auto& seen : trace.seen) out << "\n    " << seen;
  return out << (trace.inside_unit ? "\n    inside a unit" : "");
}

class Tracer {
 public:
  // Passes `bytes` to the reader. Aborts if the reader breaks its contract: a fuzz target can fail
  // in no other way.
  void feed(std::span<const std::byte> bytes) {
    using Event = MessageReader::Event;
    for (;;) {
      const auto step = reader_.next(bytes);
      if (step.consumed > bytes.size()) std::abort();
      bytes = bytes.subspan(step.consumed);
      at_ += step.consumed;
      trace_.inside_unit = reader_.inside_unit();
      switch (step.event) {
        case Event::kNeedMore:
          if (!bytes.empty()) std::abort();
          return;
        case Event::kHead:
          unit_has_head_ = true;
          add_head();
          break;
        case Event::kEnd:
          unit_ = at_;
          unit_has_head_ = false;
          trace_.seen.push_back({.event = Event::kEnd, .at = at_, .outcome = reader_.outcome()});
          break;
        case Event::kOpaque:
          add_opaque();
          return;
      }
    }
  }
  const Trace& trace() const { return trace_; }

 private:
  void add_head() {
    const Head& head = reader_.head();
    trace_.seen.push_back({.event = MessageReader::Event::kHead,
                           .at = at_,
                           .framing = head.framing,
                           .encoding = head.encoding,
                           .type = head.type,
                           .seqid = head.seqid,
                           .name = std::string(head.name),
                           .frame_bytes = head.frame_bytes,
                           .header_flags = head.header_flags,
                           .header_seqid = head.header_seqid,
                           .client_timeout_ms = head.client_timeout_ms,
                           .trace_at = head.trace_at});
    if (head.trace != nullptr) trace_.seen.back().trace = *head.trace;
  }
  void add_opaque() {
    const bool again =
        !trace_.seen.empty() && trace_.seen.back().event == MessageReader::Event::kOpaque;
    if (again) return;
    // Before the unit's first head, all bytes of the unit are opaque, also those already consumed.
    trace_.seen.push_back({.event = MessageReader::Event::kOpaque,
                           .at = unit_has_head_ ? at_ : unit_,
                           .reason = std::string(reader_.opaque_reason())});
  }

  MessageReader reader_;
  Trace trace_;
  size_t at_ = 0;
  size_t unit_ = 0;
  bool unit_has_head_ = false;
};

// Returns the trace of `bytes`, split into pieces at the offsets `cuts`, which must ascend.
inline Trace trace(std::span<const std::byte> bytes, std::span<const size_t> cuts = {}) {
  Tracer tracer;
  size_t from = 0;
  for (const size_t cut : cuts) {
    tracer.feed(bytes.subspan(from, cut - from));
    from = cut;
  }
  tracer.feed(bytes.subspan(from));
  return tracer.trace();
}

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline Trace trace(std::string_view bytes, std::span<const size_t> cuts = {}) {
  return trace(as_bytes(bytes), cuts);
}

}  // namespace hat::thrift
