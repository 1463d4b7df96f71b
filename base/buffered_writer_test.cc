// SPDX-License-Identifier: Apache-2.0
#include "base/buffered_writer.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "tests/fake_reactor.h"

namespace hat {
namespace {

using Bytes = BufferedWriter::Bytes;

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

struct NoEvents final : StreamEvents {
  void on_readable() override {}
  void on_writable() override {}
};

class BufferedWriterTest : public testing::Test {
 protected:
  BufferedWriter::Written write(const std::string& first, const std::string& second = "") {
    return writer_.write(stream_, bytes_of(first), bytes_of(second));
  }

  NoEvents events_;
  std::shared_ptr<FakeStream::Wire> wire_ = std::make_shared<FakeStream::Wire>();
  FakeStream stream_{wire_, events_};
  BufferedWriter writer_;
};

TEST_F(BufferedWriterTest, KeepsWhatTheStreamDoesNotAccept) {
  struct Row {
    size_t space;
    const char* written;
    size_t waits;
  };
  for (const Row& row : {Row{100, "headbody", 0}, Row{8, "headbody", 0}, Row{6, "headbo", 2},
                         Row{4, "head", 4}, Row{2, "he", 6}, Row{0, "", 8}}) {
    SCOPED_TRACE(row.space);
    BufferedWriter writer;
    wire_->written.clear();
    wire_->space = row.space;
    const auto written = writer.write(stream_, bytes_of("head"), bytes_of("body"));
    EXPECT_EQ(written.error, 0);
    EXPECT_EQ(written.bytes, 8 - row.waits);
    EXPECT_EQ(wire_->written, row.written);
    EXPECT_EQ(writer.size(), row.waits);
    EXPECT_EQ(wire_->writing, row.waits != 0) << "on_writable() is awaited only if bytes wait";
    wire_->space = SIZE_MAX;
    EXPECT_EQ(writer.on_writable(stream_).bytes, row.waits);
    EXPECT_EQ(wire_->written, "headbody");
    EXPECT_FALSE(wire_->writing);
  }
}

TEST_F(BufferedWriterTest, WritesInOrderAfterBytesThatWait) {
  wire_->space = 1;
  write("ab");
  wire_->space = SIZE_MAX;
  EXPECT_EQ(write("cd").bytes, 0u) << "on_writable() has not been called";
  EXPECT_EQ(writer_.flush(stream_).bytes, 0u);
  EXPECT_EQ(writer_.on_writable(stream_).bytes, 3u);
  EXPECT_EQ(wire_->written, "abcd");
}

TEST_F(BufferedWriterTest, AppendsForOneWrite) {
  writer_.append(bytes_of("ab"));
  writer_.append(bytes_of("cd"));
  EXPECT_EQ(wire_->written, "");
  EXPECT_FALSE(wire_->writing);
  EXPECT_EQ(writer_.flush(stream_).bytes, 4u);
  EXPECT_EQ(wire_->written, "abcd");
}

TEST_F(BufferedWriterTest, ReturnsAnErrorAgainUntilTheBytesAreDropped) {
  wire_->write_error = EPIPE;
  EXPECT_EQ(write("ab").error, EPIPE);
  EXPECT_EQ(writer_.size(), 2u);
  EXPECT_TRUE(wire_->writing);
  const auto again = writer_.on_writable(stream_);
  EXPECT_EQ(again.error, EPIPE);
  EXPECT_EQ(again.bytes, 0u);
  writer_.discard(stream_);
  EXPECT_TRUE(writer_.empty());
  EXPECT_FALSE(wire_->writing);
}

TEST_F(BufferedWriterTest, OffersAConnectingStreamNothing) {
  writer_.await_writable(stream_);
  EXPECT_TRUE(wire_->writing);
  EXPECT_EQ(write("ab").bytes, 0u);
  EXPECT_EQ(wire_->written, "");
  EXPECT_EQ(writer_.on_writable(stream_).bytes, 2u);
  EXPECT_FALSE(wire_->writing);
}

TEST_F(BufferedWriterTest, WritesNothingForNoBytes) {
  wire_->space = 0;
  EXPECT_EQ(write("").bytes, 0u);
  EXPECT_FALSE(wire_->writing);
}

}  // namespace
}  // namespace hat
