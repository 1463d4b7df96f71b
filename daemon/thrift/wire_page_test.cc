// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/wire_page_test.cc: checks that the hex examples in docs/wire.md, sections 1 and 2,
// can be decoded.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "daemon/thrift/exception_reply.h"
#include "daemon/thrift/stock_messages.h"
#include "daemon/thrift/trace.h"

namespace hat::thrift {
namespace {

using Event = MessageReader::Event;

struct Example {
  std::string kind;     // "call" or "exception"
  std::string dialect;  // as in kDialects
  std::string bytes;
};

// Returns the hex examples of docs/wire.md, which begin with "```hex call FRAMING ENCODING" or
// "```hex exception FRAMING ENCODING".
std::vector<Example> examples() {
  std::ifstream page(HAT_WIRE_PAGE);
  std::vector<Example> found;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    std::istringstream words(line);
    std::string fence, kind, framing, encoding;
    if (words >> fence; fence == "```hex") {
      words >> kind >> framing >> encoding;
      inside = kind == "call" || kind == "exception";
      if (inside) found.push_back({kind, framing + "_" + encoding, ""});
    } else if (fence == "```") {
      inside = false;
    } else if (inside) {
      std::istringstream hex(line.substr(0, line.find('#')));
      for (unsigned byte; hex >> std::hex >> byte;) found.back().bytes += static_cast<char>(byte);
    }
  }
  return found;
}

const Dialect* find_dialect(std::string_view name) {
  const auto found = std::ranges::find(kDialects, name, &Dialect::name);
  return found == std::end(kDialects) ? nullptr : found;
}

size_t examples_of(std::string_view kind, void (*check)(const Example&, const Dialect&)) {
  size_t count = 0;
  for (const auto& example : examples()) {
    if (example.kind != kind) continue;
    SCOPED_TRACE(example.dialect);
    const Dialect* dialect = find_dialect(example.dialect);
    if (dialect == nullptr) {
      ADD_FAILURE() << "no such dialect";
      continue;
    }
    check(example, *dialect);
    ++count;
  }
  return count;
}

TEST(WirePage, EachCallIsReadAsWritten) {
  const auto count = examples_of("call", [](const Example& example, const Dialect& dialect) {
    const auto got = trace(example.bytes);
    ASSERT_EQ(got.seen.size(), 2u) << got;
    EXPECT_EQ(got.seen[0].framing, dialect.framing);
    EXPECT_EQ(got.seen[0].encoding, dialect.encoding);
    EXPECT_EQ(got.seen[0].type, MessageType::kCall);
    EXPECT_EQ(got.seen[0].name, "add");
    EXPECT_EQ(got.seen[0].seqid, 7);
    EXPECT_EQ(got.seen[1].event, Event::kEnd);
    EXPECT_EQ(got.seen[1].at, example.bytes.size());
  });
  EXPECT_EQ(count, std::size(kDialects));
}

TEST(WirePage, EachExceptionIsWhatWeWrite) {
  const auto count = examples_of("exception", [](const Example& example, const Dialect& dialect) {
    const Head request{.framing = dialect.framing,
                       .encoding = dialect.encoding,
                       .seqid = 7,
                       .name = "add",
                       .header_seqid = 7};
    const ExceptionReply reply(request, ExceptionCode::kInternalError, "no route");
    const auto bytes = reply.bytes();
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
              example.bytes);
  });
  EXPECT_EQ(count, std::size(kDialects));
}

}  // namespace
}  // namespace hat::thrift
