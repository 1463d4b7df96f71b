// SPDX-License-Identifier: Apache-2.0
// kv/server/transports_test.cc: tests that a connection can carry more bytes in total than the
// limit of one message.
#include "kv/server/transports.h"

#include <gtest/gtest.h>
#include <thrift/TConfiguration.h>
#include <thrift/protocol/TBinaryProtocol.h>

#include <string>

namespace hat {
namespace {

using apache::thrift::TConfiguration;
using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::transport::TMemoryBuffer;
using apache::thrift::transport::TTransportException;

constexpr int kBound = 64 << 10;

// A connection whose two ends are in this test. As in a server, the reading transport never writes.
template <class Transport>
struct Pipe {
  std::shared_ptr<TMemoryBuffer> memory = std::make_shared<TMemoryBuffer>();
  std::shared_ptr<Transport> clients = std::make_shared<Transport>(memory);
  std::shared_ptr<Transport> servers =
      std::make_shared<Transport>(memory, std::make_shared<TConfiguration>(kBound));

  void write(size_t bytes) {
    TBinaryProtocol(clients).writeString(std::string(bytes, 'x'));
    clients->flush();
  }
  size_t read() {
    std::string found;
    TBinaryProtocol(servers).readString(found);
    servers->readEnd();
    return found.size();
  }
};

template <class Transport>
class Transports : public testing::Test {};
using Both = testing::Types<FramedTransport, BufferedTransport>;
TYPED_TEST_SUITE(Transports, Both);

TYPED_TEST(Transports, MessagesTogetherMayHaveMoreThanTheBound) {
  Pipe<TypeParam> pipe;
  for (int i = 0; i < kBound / 50; ++i) {
    pipe.write(100);
    ASSERT_EQ(pipe.read(), 100u) << "message " << i;
  }
}

TYPED_TEST(Transports, OneMessageMayNot) {
  Pipe<TypeParam> pipe;
  pipe.write(kBound * 2);
  EXPECT_THROW(pipe.read(), TTransportException);
}

}  // namespace
}  // namespace hat
