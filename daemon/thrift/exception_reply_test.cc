// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/exception_reply_test.cc: checks that libthrift can read the daemon's exception
// replies.
#include "daemon/thrift/exception_reply.h"

#include <gtest/gtest.h>

#include <string>

#include "daemon/thrift/stock_messages.h"
#include "daemon/thrift/trace.h"

namespace hat::thrift {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class ExceptionReplyTest : public testing::TestWithParam<Dialect> {
 protected:
  Head request(std::string_view name, int32_t seqid) const {
    return {.framing = GetParam().framing,
            .encoding = GetParam().encoding,
            .type = MessageType::kCall,
            .seqid = seqid,
            .name = name,
            .frame_bytes = 100,
            .header_flags = 0x0108,
            .header_seqid = 0xfedcba98};
  }
  // Returns the encoding of the reply. A request in old binary gets a reply in strict binary, which
  // readers of old binary accept.
  Encoding answered() const {
    return GetParam().encoding == Encoding::kBinaryOld ? Encoding::kBinary : GetParam().encoding;
  }
};
INSTANTIATE_TEST_SUITE_P(All, ExceptionReplyTest, testing::ValuesIn(kDialects),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(ExceptionReplyTest, LibthriftReadsNameSeqidCodeAndText) {
  for (const int32_t seqid : {0, 1, 300, INT32_MAX, -1, -5, INT32_MIN}) {
    for (const std::string name : {"add", "Calculator:add", "na\"m\\e\n\x01", "n\xc3\xa4me", ""}) {
      for (const std::string text :
           {"no route to peer b [no_route]", "q\"uo\\te\r\n\x1f\t", "\xc3\xa4"}) {
        const ExceptionReply reply(request(name, seqid), ExceptionCode::kInternalError, text);
        const auto read = stock_exception(GetParam(), text_of(reply.bytes()));
        ASSERT_TRUE(read) << name << seqid;
        EXPECT_EQ(read->name, bare_name(name));
        EXPECT_EQ(read->seqid, seqid);
        EXPECT_EQ(read->code, 6);
        EXPECT_EQ(read->text, text);
        EXPECT_EQ(read->bytes_left, 0u);
      }
    }
  }
}

TEST_P(ExceptionReplyTest, AllCodesAreKept) {
  for (int32_t code = 0; code <= 10; ++code) {
    const ExceptionReply reply(request("add", 1), static_cast<ExceptionCode>(code), "x");
    const auto read = stock_exception(GetParam(), text_of(reply.bytes()));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->code, code);
  }
}

TEST_P(ExceptionReplyTest, OurReaderReadsItInTheCallersDialect) {
  const ExceptionReply reply(request("Store:get", -9), ExceptionCode::kProtocolError, "why");
  const auto got = trace(reply.bytes());
  ASSERT_EQ(got.seen.size(), 2u) << got;
  EXPECT_EQ(got.seen[0].framing, GetParam().framing);
  EXPECT_EQ(got.seen[0].encoding, answered());
  EXPECT_EQ(got.seen[0].type, MessageType::kException);
  EXPECT_EQ(got.seen[0].name, "get");
  EXPECT_EQ(got.seen[0].seqid, -9);
  const bool header = has_header(GetParam().framing);
  EXPECT_EQ(got.seen[0].header_flags, header ? 0x0108 : 0);
  EXPECT_EQ(got.seen[0].header_seqid, header ? 0xfedcba98 : 0);
  EXPECT_EQ(got.seen[1].event, MessageReader::Event::kEnd);
  EXPECT_EQ(got.seen[1].at, reply.bytes().size());
  EXPECT_EQ(got.seen[1].outcome, Outcome::kApplicationException);
}

TEST_P(ExceptionReplyTest, TheLongestFits) {
  const std::string name(kNameBytesMax, '\x01'), text(kExceptionTextBytesMax + 100, '\x01');
  const ExceptionReply reply(request(name, INT32_MIN), ExceptionCode::kUnknown, text);
  const auto read = stock_exception(GetParam(), text_of(reply.bytes()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name, name);
  EXPECT_EQ(read->text, text.substr(0, kExceptionTextBytesMax));
}

TEST(ExceptionReplyJson, HasNoControlBytes) {
  std::string text;
  for (char c = 0; c < 0x20; ++c) text += c;
  const Head request{.encoding = Encoding::kJson, .name = text};
  const ExceptionReply reply(request, ExceptionCode::kUnknown, text);
  for (const char c : text_of(reply.bytes())) EXPECT_GE(static_cast<uint8_t>(c), 0x20);
}

TEST_P(ExceptionReplyTest, TextsAreNotCutWithinACharacter) {
  std::string text(kExceptionTextBytesMax - 1, 'a');
  text += "\xe2\x82\xac";  // one character of three bytes, of which only one fits
  const ExceptionReply reply(request("get", 1), ExceptionCode::kUnknown, text);
  const auto read = stock_exception(GetParam(), text_of(reply.bytes()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->text, text.substr(0, kExceptionTextBytesMax - 1));
}

}  // namespace
}  // namespace hat::thrift
