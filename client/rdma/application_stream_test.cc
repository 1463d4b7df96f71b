// SPDX-License-Identifier: Apache-2.0
#include "client/rdma/application_stream.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

namespace hatrpc::rdma {
namespace {

using Outcome = ApplicationStream::Outcome;

hat::TimePoint in(hat::Duration time) { return std::chrono::steady_clock::now() + time; }
hat::TimePoint in_time() { return in(std::chrono::seconds(30)); }

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// A worker that answers each part of a request with the same bytes.
class Echo final : public hat::StreamEvents {
 public:
  void on_readable() override {
    std::array<std::byte, 4096> part;
    const hat::IoResult result = stream->read(part);
    if (result.kind == hat::IoResult::Kind::kEnd) {
      ended = true;
      stream.reset();
      return;
    }
    if (result.kind != hat::IoResult::Kind::kOk) return;
    waiting.insert(waiting.end(), part.begin(), part.begin() + result.bytes);
    send();
  }
  void on_writable() override { send(); }

  void send() {
    const iovec all{waiting.data(), waiting.size()};
    const hat::IoResult result = stream->write({&all, 1});
    if (result.kind == hat::IoResult::Kind::kError) waiting.clear();
    if (result.kind == hat::IoResult::Kind::kOk) {
      waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(result.bytes));
    }
    stream->want_write(!waiting.empty());
    stream->want_read(waiting.empty());
  }

  std::unique_ptr<hat::ByteStream> stream;
  std::vector<std::byte> waiting;
  bool ended = false;
};

class InnerStream : public testing::Test {
 protected:
  InnerStream() {
    loop_->in_loop([this] {
      echo_.stream = stream_->worker_side(echo_);
      echo_.stream->want_read(true);
    });
  }
  ~InnerStream() override {
    loop_->in_loop([this] { echo_.stream.reset(); });
  }

  // Reads until `bytes` bytes have arrived, or an outcome other than kOk.
  std::string read(size_t bytes, Outcome* last = nullptr) {
    std::string text;
    Outcome outcome = Outcome::kOk;
    while (outcome == Outcome::kOk && text.size() < bytes) {
      std::string part(bytes - text.size(), '\0');
      size_t count = 0;
      outcome = stream_->read(std::as_writable_bytes(std::span(part)), in_time(), count);
      text += part.substr(0, outcome == Outcome::kOk ? count : 0);
    }
    if (last != nullptr) *last = outcome;
    return text;
  }

  Echo echo_;
  std::shared_ptr<SharedLoop> loop_ = std::make_shared<SharedLoop>();
  std::shared_ptr<ApplicationStream> stream_ = std::make_shared<ApplicationStream>(loop_);
};

TEST_F(InnerStream, CarriesBytesInBothDirections) {
  EXPECT_FALSE(stream_->has_bytes());
  ASSERT_EQ(stream_->write(bytes_of("hello"), in_time()), Outcome::kOk);
  stream_->flush();
  EXPECT_TRUE(stream_->has_bytes()) << "flush() lets the worker read and answer";
  EXPECT_EQ(read(5), "hello");
  ASSERT_EQ(stream_->write(bytes_of("again"), in_time()), Outcome::kOk);
  EXPECT_EQ(read(5), "again") << "a read sends what was written before";
}

// More than fits into both queues: the writer waits until another thread has read.
TEST_F(InnerStream, LimitsWhatWaits) {
  const std::string large(5 * ApplicationStream::kBytesMax + 7, 'x');
  std::thread writer([&] {
    EXPECT_EQ(stream_->write(bytes_of(large), in_time()), Outcome::kOk);
    stream_->flush();
  });
  EXPECT_EQ(read(large.size()), large);
  writer.join();
}

TEST_F(InnerStream, AWriteTimesOutIfNothingIsRead) {
  const std::string large(3 * ApplicationStream::kBytesMax, 'x');
  EXPECT_EQ(stream_->write(bytes_of(large), in(std::chrono::milliseconds(50))), Outcome::kTimedOut);
}

TEST_F(InnerStream, AReadTimesOut) {
  EXPECT_EQ(stream_->await_readable(in(std::chrono::milliseconds(10))), Outcome::kTimedOut);
}

TEST_F(InnerStream, TheWorkerReadsTheEnd) {
  ASSERT_EQ(stream_->write(bytes_of("last"), in_time()), Outcome::kOk);
  stream_->close();
  EXPECT_TRUE(echo_.ended);
}

TEST_F(InnerStream, TheApplicationReadsTheEnd) {
  ASSERT_EQ(stream_->write(bytes_of("last"), in_time()), Outcome::kOk);
  stream_->flush();
  loop_->in_loop([this] { echo_.stream.reset(); });
  Outcome last = Outcome::kOk;
  EXPECT_EQ(read(100, &last), "last") << "what was sent before the end arrives";
  EXPECT_EQ(last, Outcome::kEnd);
  EXPECT_EQ(stream_->write(bytes_of("more"), in_time()), Outcome::kEnd);
}

TEST_F(InnerStream, AnInterruptEndsAWait) {
  std::thread other([this] {
    while (loop_->turns() < 2) std::this_thread::yield();
    stream_->interrupt();
  });
  EXPECT_EQ(stream_->await_readable(in_time()), Outcome::kInterrupted);
  EXPECT_EQ(stream_->await_readable(in_time()), Outcome::kInterrupted);
  other.join();
}

}  // namespace
}  // namespace hatrpc::rdma
