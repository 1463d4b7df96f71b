// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/unit_reader.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace hat {
namespace {

using std::string;
using testing::ElementsAre;

string be32(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

// Returns a strict binary call `name` with one string argument of `size` bytes.
string message(const string& name, size_t size) {
  return string("\x80\x01\x00\x01", 4) + be32(static_cast<uint32_t>(name.size())) + name + be32(7) +
         string("\x0b\x00\x01", 3) + be32(static_cast<uint32_t>(size)) + string(size, 'x') +
         string(1, '\0');
}
string frame(const string& body) { return be32(static_cast<uint32_t>(body.size())) + body; }

Bytes bytes_of(const string& text) { return std::as_bytes(std::span(text)); }

// Records the reader's reports as texts with a name or a number of bytes: "head echo", "piece 10",
// "last 5", "opaque 3".
struct Log final : UnitSink {
  bool on_head(const thrift::Head& head) override {
    lines.push_back("head " + string(head.name));
    return !stop_at_head;
  }
  bool on_piece(Bytes piece, bool last) override {
    lines.push_back((last ? "last " : "piece ") + std::to_string(piece.size()));
    forwarded.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return !(stop_at_last && last);
  }
  void on_opaque(Bytes bytes) override {
    lines.push_back("opaque " + std::to_string(bytes.size()));
    forwarded.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  std::vector<string> lines;
  string forwarded;
  bool stop_at_head = false;
  bool stop_at_last = false;
};

TEST(UnitReader, GivesAWholeFrameAsOnePiece) {
  const string input = frame(message("echo", 10));
  UnitReader reader;
  Log log;
  EXPECT_EQ(reader.feed(bytes_of(input), log), input.size());
  EXPECT_THAT(log.lines, ElementsAre("head echo", "last " + std::to_string(input.size())));
}

TEST(UnitReader, SendsALargeMessageOnAsItComes) {
  const string input = message("put", 100'000);
  UnitReader reader;
  Log log;
  reader.feed(bytes_of(input.substr(0, 50'000)), log);
  EXPECT_THAT(log.lines, ElementsAre("head put", "piece 50000"));
  reader.feed(bytes_of(input.substr(50'000)), log);
  EXPECT_EQ(log.lines.back(), "last " + std::to_string(input.size() - 50'000));
  EXPECT_EQ(log.forwarded, input);
}

TEST(UnitReader, ForwardsTheSameBytesWhereverTheInputIsCut) {
  const string input = frame(message("echo", 10)) + message("put", 5) + frame("") +
                       frame(message("a", 1) + message("b", 2)) + message("last", 0);
  for (size_t cut = 0; cut <= input.size(); ++cut) {
    UnitReader reader;
    Log log;
    reader.feed(bytes_of(input.substr(0, cut)), log);
    reader.feed(bytes_of(input.substr(cut)), log);
    ASSERT_EQ(log.forwarded, input) << "cut at " << cut;
    ASSERT_FALSE(reader.inside_unit());
    ASSERT_EQ(std::ranges::count_if(log.lines, [](auto& l) { return l.starts_with("head"); }), 5)
        << "cut at " << cut;
    ASSERT_EQ(std::ranges::count_if(log.lines, [](auto& l) { return l.starts_with("last"); }), 5)
        << "cut at " << cut;
  }
}

// The header of a THeader frame can be longer than kHeldBytesMax. The reader cannot hold such a
// header, so it passes the bytes on as opaque.
TEST(UnitReader, HoldsNoMoreThanItsBoundForAHeadThatDoesNotEnd) {
  constexpr size_t kFrame = 250'000, kPiece = 1000;
  const string input = be32(kFrame) + string("\x0f\xff\0\0", 4) + be32(1) + string("\xf0\x00", 2) +
                       string(kFrame, '\0');
  UnitReader reader;
  Log log;
  for (size_t at = 0; at < UnitReader::kHeldBytesMax + 2 * kPiece && !reader.opaque();
       at += kPiece) {
    EXPECT_EQ(reader.feed(bytes_of(input.substr(at, kPiece)), log), kPiece);
    EXPECT_LE(reader.held_bytes(), UnitReader::kHeldBytesMax);
  }
  EXPECT_TRUE(reader.opaque());
  EXPECT_EQ(log.forwarded, input.substr(0, log.forwarded.size())) << "nothing of it is lost";
  EXPECT_GT(log.forwarded.size(), UnitReader::kHeldBytesMax);
}

TEST(UnitReader, HoldsAUnitThatMustWaitAndGivesItLater) {
  const string input = frame(message("echo", 10)) + message("put", 5);
  UnitReader reader;
  Log log;
  log.stop_at_head = true;
  const size_t taken = reader.feed(bytes_of(input), log);
  EXPECT_THAT(log.lines, ElementsAre("head echo"));
  log.stop_at_head = false;
  reader.feed(bytes_of(input.substr(taken)), log);
  EXPECT_EQ(log.forwarded, input);
}

TEST(UnitReader, StopsBetweenUnitsWhereTheSinkSays) {
  const string one = frame(message("echo", 10));
  UnitReader reader;
  Log log;
  log.stop_at_last = true;
  EXPECT_EQ(reader.feed(bytes_of(one + one), log), one.size());
}

TEST(UnitReader, GivesOpaqueBytesWholeIncludingWhatWasHeldBack) {
  for (const string& input :
       {string("POST /thrift HTTP/1.1\r\n"), string("\x16\x03\x01\x02\x00", 5)}) {
    for (size_t cut = 0; cut <= input.size(); ++cut) {
      UnitReader reader;
      Log log;
      size_t taken = reader.feed(bytes_of(input.substr(0, cut)), log);
      if (!reader.opaque()) {
        taken += reader.feed(bytes_of(input.substr(cut)), log);
      }
      ASSERT_TRUE(reader.opaque());
      EXPECT_EQ(log.forwarded, input.substr(0, taken));
    }
  }
}

TEST(UnitReader, WhatIsTooShortToTellIsOpaqueAtTheEnd) {
  UnitReader reader;
  Log log;
  reader.feed(bytes_of(string("\x80\x01", 2)), log);
  reader.end(log);
  EXPECT_THAT(log.lines, ElementsAre("opaque 2"));
}

}  // namespace
}  // namespace hat
