// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/no_allocation_test.cc: checks that reading Thrift messages and writing exception
// replies never allocates memory.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "daemon/thrift/exception_reply.h"
#include "daemon/thrift/message_reader.h"
#include "daemon/thrift/stock_messages.h"
#include "daemon/thrift/trace.h"
#include "tests/counting_new.h"

namespace hat::thrift {
namespace {

TEST(NoAllocation, TheCounterCounts) {
  const auto before = allocation_count();
  const std::string text(100, 'x');
  EXPECT_EQ(allocation_count(), before + 1);
}

TEST(NoAllocation, ReadingWholeAndInPieces) {
  std::mt19937 random(1);
  std::string bytes;
  for (int round = 0; round < 50; ++round) {
    for (const auto& dialect : kDialects) {
      bytes += stock_message(dialect, {"Store:get", MessageType::kReply, -1}, {}, random);
    }
  }
  bytes += "POST / HTTP/1.1";
  for (const size_t piece : {bytes.size(), size_t{1}, size_t{7}, size_t{100}}) {
    MessageReader reader;
    const auto before = allocation_count();
    size_t ends = 0;
    auto event = MessageReader::Event::kNeedMore;
    for (auto rest = as_bytes(bytes); !rest.empty();
         rest = rest.subspan(std::min(piece, rest.size()))) {
      auto now = rest.first(std::min(piece, rest.size()));
      do {
        const auto step = reader.next(now);
        now = now.subspan(step.consumed);
        event = step.event;
        ends += event == MessageReader::Event::kEnd;
      } while (event == MessageReader::Event::kHead || event == MessageReader::Event::kEnd);
    }
    const auto after = allocation_count();
    EXPECT_EQ(after, before);
    EXPECT_EQ(ends, 50 * std::size(kDialects));
    EXPECT_EQ(event, MessageReader::Event::kOpaque);
  }
}

TEST(NoAllocation, Answering) {
  const Head request{.encoding = Encoding::kJson, .name = "Store:get"};
  const auto before = allocation_count();
  const ExceptionReply reply(request, ExceptionCode::kUnknown, "no route to Store:get [no_route]");
  const auto after = allocation_count();
  EXPECT_EQ(after, before);
  EXPECT_GT(reply.bytes().size(), 0u);
}

}  // namespace
}  // namespace hat::thrift
