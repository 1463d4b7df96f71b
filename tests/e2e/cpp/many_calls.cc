// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/many_calls.cc: test cases with several unanswered calls on one connection.
#include "tests/e2e/cpp/many_calls.h"

#include <thrift/async/TConcurrentClientSyncInfo.h>

#include <atomic>
#include <limits>
#include <stdexcept>
#include <thread>

namespace probe_peer {
namespace {

namespace protocol = apache::thrift::protocol;

constexpr int kCalls = 50;

void send_add(protocol::TProtocol& out, int32_t seqid, int32_t left, int32_t right) {
  out.writeMessageBegin("add", protocol::T_CALL, seqid);
  probe::Base_add_pargs arguments;
  arguments.left = &left;
  arguments.right = &right;
  arguments.write(&out);
  out.writeMessageEnd();
  out.getTransport()->writeEnd();
  out.getTransport()->flush();
}

void receive_add(protocol::TProtocol& in, int32_t seqid, int32_t sum) {
  std::string name;
  protocol::TMessageType type;
  int32_t came_seqid = 0;
  in.readMessageBegin(name, type, came_seqid);
  int32_t came_sum = 0;
  probe::Base_add_presult result;
  result.success = &came_sum;
  result.read(&in);
  in.readMessageEnd();
  in.getTransport()->readEnd();
  if (name != "add" || type != protocol::T_REPLY || came_seqid != seqid || came_sum != sum) {
    throw std::runtime_error("for seqid " + std::to_string(seqid) + " came " + name + ", type " +
                             std::to_string(type) + ", seqid " + std::to_string(came_seqid) +
                             ", sum " + std::to_string(came_sum));
  }
}

}  // namespace

void pipelined(Session& session) {
  for (int i = 0; i < kCalls; ++i) session.client.send_add(i, 1000);
  for (int i = 0; i < kCalls; ++i) {
    const int32_t sum = session.client.recv_add();
    if (sum != i + 1000) {
      throw std::runtime_error("answer " + std::to_string(i) + " is " + std::to_string(sum));
    }
  }
}

void own_seqids(Session& session) {
  std::vector<int32_t> seqids = {
      std::numeric_limits<int32_t>::min(), -1, 0, 1, 127, 128, 1 << 14, 1 << 21, 1 << 28,
      std::numeric_limits<int32_t>::max(), 7,  7};
  while (seqids.size() < kCalls) seqids.push_back(-static_cast<int32_t>(seqids.size()) * 1'000'003);
  for (size_t i = 0; i < seqids.size(); ++i) {
    send_add(*session.stack.protocol, seqids[i], static_cast<int32_t>(i), 5);
  }
  for (size_t i = 0; i < seqids.size(); ++i) {
    receive_add(*session.stack.protocol, seqids[i], static_cast<int32_t>(i) + 5);
  }
}

void concurrent(Session& session) {
  auto sync = std::make_shared<apache::thrift::async::TConcurrentClientSyncInfo>();
  // The client reads with one protocol object and writes with another, because a TJSONProtocol
  // cannot read and write at the same time.
  auto reading = make_protocol_factory(session.combination)->getProtocol(session.stack.transport);
  probe::ProbeConcurrentClient client(reading, session.stack.protocol, sync);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&, thread] {
        try {
          for (int i = 0; i < kCalls; ++i) wrong += client.add(i, thread) != i + thread;
        } catch (const std::exception&) {
          ++wrong;
        }
      });
    }
  }
  if (wrong != 0) throw std::runtime_error(std::to_string(wrong) + " wrong answers");
}

}  // namespace probe_peer
