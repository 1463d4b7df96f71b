// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/classify_test.cc: tests classify() with the first bytes of each format.
#include "daemon/thrift/classify.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace hat::thrift {
namespace {

using namespace std::string_view_literals;
using Kind = Classification::Kind;

struct Row {
  std::string_view name;
  std::string_view bytes;
  size_t decisive;  // how many of these bytes classify() needs to decide
  Kind kind;
  Framing framing = Framing::kUnframed;
  Encoding encoding = Encoding::kBinary;
  std::string_view reason;
};

constexpr Row opaque(std::string_view name, std::string_view bytes, size_t decisive,
                     std::string_view reason) {
  return {name, bytes, decisive, Kind::kOpaque, Framing::kUnframed, Encoding::kBinary, reason};
}
constexpr Row message(std::string_view name, std::string_view bytes, size_t decisive,
                      Framing framing, Encoding encoding) {
  return {name, bytes, decisive, Kind::kMessage, framing, encoding, ""};
}

const Row kRows[] = {
    message("strict_call", "\x80\x01\x00\x01\x00\x00\x00\x03"sv, 4, Framing::kUnframed,
            Encoding::kBinary),
    message("strict_reserved_byte", "\x80\x01\x77\x04"sv, 4, Framing::kUnframed, Encoding::kBinary),
    opaque("strict_other_version", "\x80\x02\x00\x01"sv, 2, "unknown"),
    opaque("strict_type_0", "\x80\x01\x00\x00"sv, 4, "unknown"),
    opaque("strict_type_5", "\x80\x01\x00\x05"sv, 4, "unknown"),
    message("compact_call", "\x82\x21"sv, 2, Framing::kUnframed, Encoding::kCompact),
    message("compact_reply", "\x82\x41"sv, 2, Framing::kUnframed, Encoding::kCompact),
    message("compact_exception", "\x82\x61"sv, 2, Framing::kUnframed, Encoding::kCompact),
    message("compact_oneway", "\x82\x81"sv, 2, Framing::kUnframed, Encoding::kCompact),
    opaque("compact_other_version", "\x82\x22"sv, 2, "unknown"),
    opaque("compact_type_0", "\x82\x01"sv, 2, "unknown"),
    opaque("compact_type_5", "\x82\xa1"sv, 2, "unknown"),
    message("json", "[1,\"add\""sv, 4, Framing::kUnframed, Encoding::kJson),
    opaque("json_with_space", "[ 1,\""sv, 2, "unknown"),
    opaque("json_other_version", "[2,\""sv, 2, "unknown"),
    message("old",
            "\x00\x00\x00\x03"
            "add\x01"sv,
            5, Framing::kUnframed, Encoding::kBinaryOld),
    message("old_longest_name",
            "\x00\x00\x00\xff"
            "a"sv,
            5, Framing::kUnframed, Encoding::kBinaryOld),
    opaque("old_long_name",
           "\x00\x00\x01\x00"
           "a"sv,
           5, "long_name"),
    opaque("old_name_over_16_mib",
           "\x01\x00\x00\x01"
           "a"sv,
           5, "unknown"),

    message("framed_strict", "\x00\x00\x00\x40\x80\x01\x00\x01"sv, 8, Framing::kFramed,
            Encoding::kBinary),
    message("framed_strict_shortest", "\x00\x00\x00\x0c\x80\x01\x00\x02"sv, 8, Framing::kFramed,
            Encoding::kBinary),
    opaque("framed_strict_too_short", "\x00\x00\x00\x0b\x80\x01\x00\x02"sv, 5, "unknown"),
    message("framed_strict_largest", "\x3f\xff\xff\xff\x80\x01\x00\x01"sv, 8, Framing::kFramed,
            Encoding::kBinary),
    opaque("frame_too_large", "\x40\x00\x00\x00\x80\x01\x00\x01"sv, 1, "unknown"),
    opaque("frame_negative", "\xff\xff\xff\xff\x80\x01\x00\x01"sv, 1, "unknown"),
    message("framed_compact", "\x00\x00\x00\x04\x82\x21"sv, 6, Framing::kFramed,
            Encoding::kCompact),
    opaque("framed_compact_too_short", "\x00\x00\x00\x03\x82\x21"sv, 5, "unknown"),
    message("framed_json", "\x00\x00\x00\x0d[1,\""sv, 8, Framing::kFramed, Encoding::kJson),
    message("old_name_with_bracket", "\x00\x00\x00\x0d[x"sv, 6, Framing::kUnframed,
            Encoding::kBinaryOld),
    message("framed_old", "\x00\x00\x00\x0e\x00\x00\x00\x03"sv, 5, Framing::kFramed,
            Encoding::kBinaryOld),
    message("framed_old_that_may_hold_theader", "\x00\x00\x00\x17\x00\x00\x00\x03"sv, 8,
            Framing::kFramed, Encoding::kBinaryOld),
    opaque("framed_old_too_short", "\x00\x00\x00\x08\x00\x00\x00\x03"sv, 5, "unknown"),
    message("theader", "\x00\x00\x00\x30\x0f\xff\x00\x00"sv, 6, Framing::kHeader,
            Encoding::kBinary),
    message("theader_shortest", "\x00\x00\x00\x0e\x0f\xff\x00\x00"sv, 6, Framing::kHeader,
            Encoding::kBinary),
    message("framed_theader", "\x00\x00\x00\x34\x00\x00\x00\x30\x0f\xff"sv, 10,
            Framing::kFramedHeader, Encoding::kBinary),
    message("framed_theader_shortest", "\x00\x00\x00\x12\x00\x00\x00\x0e\x0f\xff"sv, 10,
            Framing::kFramedHeader, Encoding::kBinary),
    message("framed_theader_too_short", "\x00\x00\x00\x11\x00\x00\x00\x0d\x0f\xff"sv, 5,
            Framing::kFramed, Encoding::kBinaryOld),
    message("framed_theader_of_16_mib", "\x01\x00\x00\x04\x01\x00\x00\x00\x0f\xff"sv, 10,
            Framing::kFramedHeader, Encoding::kBinary),
    message("framed_theader_other_magic", "\x00\x00\x00\x34\x00\x00\x00\x30\x0f\xfe"sv, 10,
            Framing::kFramed, Encoding::kBinaryOld),
    message("framed_theader_of_another_length", "\x00\x00\x00\x34\x00\x00\x00\x31\x0f\xff"sv, 8,
            Framing::kFramed, Encoding::kBinaryOld),
    opaque("theader_too_short", "\x00\x00\x00\x0d\x0f\xff"sv, 6, "unknown"),
    opaque("theader_other_magic", "\x00\x00\x00\x30\x0f\xfe"sv, 6, "unknown"),
    {"empty_frame", "\x00\x00\x00\x00"sv, 4, Kind::kEmptyFrame, Framing::kFramed},
    opaque("frame_of_anything", "\x00\x00\x00\x30\xee"sv, 5, "unknown"),

    opaque("tls_1_0", "\x16\x03\x01\x02\x00\x01\x00\x01"sv, 3, "tls"),
    opaque("tls_1_3_record", "\x16\x03\x04"sv, 3, "tls"),
    opaque("tls_ssl_3", "\x16\x03\x00"sv, 3, "tls"),
    opaque("tls_that_looks_framed", "\x16\x03\x01\x02\x80\x01\x00\x01"sv, 3, "tls"),
    message("frame_of_369_mb", "\x16\x03\x05\x02\x80\x01\x00\x01"sv, 8, Framing::kFramed,
            Encoding::kBinary),
    opaque("http_post", "POST / HTTP/1.1"sv, 4, "http"),
    opaque("http_get", "GET /"sv, 4, "http"),
    opaque("http_options", "OPTIONS"sv, 4, "http"),
    opaque("http_answer", "HTTP/1.1 200"sv, 4, "http"),
    opaque("http_2", "PRI * HTTP/2.0"sv, 4, "http"),
    opaque("http_almost", "POSX"sv, 4, "unknown"),
    opaque("ssh", "SSH-2.0-"sv, 1, "unknown"),
    opaque("zlib_best", "\x78\xda"sv, 2, "zlib"),
    opaque("zlib_default", "\x78\x9c"sv, 2, "zlib"),
    opaque("zlib_none", "\x78\x01"sv, 2, "zlib"),
    opaque("zlib_fast", "\x78\x5e"sv, 2, "zlib"),
    opaque("zlib_almost", "\x78\x02"sv, 2, "unknown"),
    opaque("sasl_plain", "\x01\x00\x00\x00\x05PLA"sv, 5, "sasl"),
    opaque("sasl_of_15_letters", "\x01\x00\x00\x00\x0fSCRAM"sv, 6, "sasl"),
    opaque("sasl_name_too_long", "\x01\x00\x00\x00\x15SCRAM"sv, 5, "unknown"),
    message("frame_of_16_mib", "\x01\x00\x00\x00\x80\x01\x00\x01"sv, 8, Framing::kFramed,
            Encoding::kBinary),
    message("theader_of_16_mib", "\x01\x00\x00\x00\x0f\xff"sv, 6, Framing::kHeader,
            Encoding::kBinary),
    opaque("little_endian", "\x01\x00\x01\x80\x03\x00\x00\x00"sv, 5, "binary_le"),
    opaque("little_endian_oneway", "\x04\x00\x01\x80\x03\x00\x00\x00"sv, 5, "binary_le"),
    message("frame_of_16777600", "\x01\x00\x01\x80\x80\x01\x00\x01"sv, 8, Framing::kFramed,
            Encoding::kBinary),
    opaque("redis", "*1\r\n$4\r\n"sv, 5, "unknown"),
};

std::span<const uint8_t> first(std::string_view bytes, size_t size) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), size};
}

class ClassifyTest : public testing::TestWithParam<Row> {};

TEST_P(ClassifyTest, DecidesAtTheDecisiveByteAndNeverChangesItsMind) {
  const Row& row = GetParam();
  for (size_t size = 0; size < row.decisive; ++size) {
    EXPECT_EQ(classify(first(row.bytes, size)).kind, Kind::kUndecided) << size << " bytes";
  }
  for (size_t size = row.decisive; size <= row.bytes.size(); ++size) {
    const auto found = classify(first(row.bytes, size));
    EXPECT_EQ(found.kind, row.kind) << size << " bytes";
    EXPECT_EQ(found.framing, row.framing) << size << " bytes";
    EXPECT_EQ(found.opaque_reason, row.reason) << size << " bytes";
    EXPECT_EQ(found.encoding, row.encoding) << size << " bytes";
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, ClassifyTest, testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(ClassifyBounds, TenBytesAlwaysDecide) {
  std::vector<uint8_t> bytes(kDecisiveBytesMax);
  uint32_t state = 1;
  for (int round = 0; round < 200'000; ++round) {
    for (auto& byte : bytes) {
      state = state * 1664525 + 1013904223;
      // With a probability of 3/4, takes the byte from those with which formats begin.
      constexpr uint8_t kTable[] = {0x00, 0x01, 0x03, 0x0f, 0x16, 0x80,
                                    0x82, 0xff, '[',  '1',  ',',  '"'};
      byte = (state >> 30) == 0 ? static_cast<uint8_t>(state >> 16)
                                : kTable[(state >> 16) % sizeof kTable];
    }
    ASSERT_NE(classify(bytes).kind, Kind::kUndecided);
  }
}

}  // namespace
}  // namespace hat::thrift
