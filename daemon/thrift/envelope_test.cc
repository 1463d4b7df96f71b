// SPDX-License-Identifier: Apache-2.0
#include "daemon/thrift/envelope.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/thrift/stock_messages.h"

namespace hat::thrift {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

class EnvelopeTest : public testing::TestWithParam<Dialect> {
 protected:
  std::string message(int32_t seqid, const std::string& name = "Calculator:add",
                      MessageType type = MessageType::kCall) const {
    std::mt19937 random(1);
    return stock_message(GetParam(), {name, type, seqid}, {.kind = Body::Kind::kNested, .size = 3},
                         random);
  }
  static std::optional<WholeMessage> read(const std::string& unit) {
    MessageReader reader;
    return read_whole(reader, bytes_of(unit));
  }
};
INSTANTIATE_TEST_SUITE_P(All, EnvelopeTest, testing::ValuesIn(kDialects),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(EnvelopeTest, WithAnotherIdIsWhatLibthriftWritesWithThatId) {
  std::vector<std::byte> rewritten;
  for (const int32_t from : {0, 1, 127, 128, 1'000'000'000, INT32_MAX, -1, INT32_MIN}) {
    for (const int32_t to : {0, 1, 127, 128, 1'000'000'000, INT32_MAX, -1, INT32_MIN}) {
      const std::string unit = message(from);
      const auto whole = read(unit);
      ASSERT_TRUE(whole);
      EXPECT_EQ(whole->ids.seqid, from);
      EXPECT_EQ(whole->name_hash, name_hash("add"));
      const auto envelope = bytes_of(unit).first(whole->envelope_bytes);
      write_envelope(envelope, whole->framing, whole->encoding, {to, static_cast<uint32_t>(to)},
                     rewritten);
      const std::string got(reinterpret_cast<const char*>(rewritten.data()), rewritten.size());
      EXPECT_EQ(got + unit.substr(whole->envelope_bytes), message(to)) << from << " to " << to;
    }
  }
}

TEST_P(EnvelopeTest, OfWhatIsNotOneWholeMessageIsNone) {
  const std::string unit = message(1);
  EXPECT_FALSE(read(""));
  for (size_t bytes = 1; bytes < unit.size(); ++bytes) {
    EXPECT_FALSE(read(unit.substr(0, bytes))) << bytes << " of " << unit.size();
  }
  EXPECT_FALSE(read(unit + unit));
  EXPECT_FALSE(read(unit + '\0'));
}

std::string in_frame(const std::string& body) {
  std::string length;
  for (int shift = 24; shift >= 0; shift -= 8) length += static_cast<char>(body.size() >> shift);
  return length + body;
}

// A frame with several messages is not one call: Apache Thrift's servers answer each message in a
// frame.
TEST(ReadWhole, RefusesFramesWithMoreInThemThanOneMessage) {
  std::mt19937 random(1);
  const Dialect unframed{"", Framing::kUnframed, Encoding::kBinary};
  const auto message = [&](const std::string& name) {
    return stock_message(unframed, {name, MessageType::kCall, 7}, {.kind = Body::Kind::kEmpty},
                         random);
  };
  const std::string one = message("add");
  const auto reads = [](const std::string& unit) {
    MessageReader reader;
    return read_whole(reader, bytes_of(unit)).has_value();
  };
  EXPECT_TRUE(reads(in_frame(one)));
  EXPECT_FALSE(reads(in_frame(one + one)));
  EXPECT_FALSE(reads(in_frame(one + message(std::string(kNameBytesMax + 1, 'x'))))) << "long name";
  EXPECT_FALSE(reads(in_frame(one + "x"))) << "a byte too many";
  EXPECT_FALSE(reads(in_frame(one.substr(0, one.size() - 1)))) << "a byte too few";
  EXPECT_FALSE(reads(in_frame(one.substr(0, one.size() - 1) + "\x63"))) << "no such type";
  EXPECT_FALSE(reads(in_frame("")));
}

}  // namespace
}  // namespace hat::thrift
