// SPDX-License-Identifier: Apache-2.0
// daemon/discovery/fake_dns.h: a DNS server for tests, and the records that it answers with.
#pragma once

#include <arpa/inet.h>
#include <event2/event.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/owned.h"

namespace hat {

inline constexpr uint16_t kA = 1, kCname = 5, kAaaa = 28, kSrv = 33;

inline std::string two_bytes(size_t value) {
  return {static_cast<char>(value >> 8 & 0xff), static_cast<char>(value & 0xff)};
}
inline std::string four_bytes(size_t value) { return two_bytes(value >> 16) + two_bytes(value); }

// Returns a host name as DNS messages have it.
inline std::string labels(const std::string& name) {
  std::string all;
  for (size_t at = 0; at < name.size();) {
    const size_t end = std::min(name.find('.', at), name.size());
    all += static_cast<char>(end - at) + name.substr(at, end - at);
    at = end + 1;
  }
  return all + '\0';
}

inline std::string ipv4(const char* address) {
  in_addr bytes{};
  EXPECT_EQ(inet_pton(AF_INET, address, &bytes), 1);
  return {reinterpret_cast<const char*>(&bytes), sizeof bytes};
}

inline std::string ipv6(const char* address) {
  in6_addr bytes{};
  EXPECT_EQ(inet_pton(AF_INET6, address, &bytes), 1);
  return {reinterpret_cast<const char*>(&bytes), sizeof bytes};
}

inline std::string service(uint16_t priority, uint16_t port, const std::string& host) {
  return two_bytes(priority) + two_bytes(0) + two_bytes(port) + labels(host);
}

struct Record {
  uint16_t type;
  uint32_t ttl;
  std::string data;
  std::string owner = "\xc0\x0c";  // a reference to the name in the question
};

// Answers queries by UDP and TCP, on the event loop of the test.
class FakeDns {
 public:
  // Listens at the port `wanted`; 0: at one that is free for UDP and TCP.
  explicit FakeDns(event_base* base, std::string its_address = "127.0.0.1", uint16_t wanted = 0)
      : address(std::move(its_address)), port(wanted), base_(base) {
    // Tries again, because a port that is free for TCP can be taken for UDP.
    for (int attempt = 0;
         attempt < 100 && !(bind_to(tcp_, SOCK_STREAM) && bind_to(udp_, SOCK_DGRAM)); ++attempt) {
      port = wanted;
    }
    EXPECT_EQ(listen(tcp_.get(), 16), 0);
    watch(udp_, [this] { answer_by_udp(); });
    watch(tcp_, [this] {
      auto& client = *clients_.emplace_back(std::make_unique<Client>());
      client.socket = Descriptor(accept4(tcp_.get(), nullptr, nullptr, SOCK_NONBLOCK));
      client.watch = &watch(client.socket, [this, &client] { answer_by_tcp(client); });
    });
  }

  // Sets the answer to queries for a name and a type. Other queries get no record if the name has
  // one of another type, and otherwise the answer that the name does not exist.
  void set(const std::string& name, const std::vector<Record>& records) {
    for (const Record& record : records) answers_[labels(name)][record.type].push_back(record);
  }
  // Answers two queries by UDP on the calling thread, while the event loop does not run.
  void answer_two() {
    for (int i = 0; i < 2; ++i) {
      pollfd query{udp_.get(), POLLIN, 0};
      EXPECT_EQ(poll(&query, 1, 10'000), 1);
      answer_by_udp();
    }
  }

  const std::string address;
  uint16_t port = 0;
  size_t queries = 0;
  size_t queries_by_tcp = 0;
  bool is_silent = false;
  bool silent_about_ipv6 = false;
  std::string silent_about;  // the server does not answer queries for this name
  size_t cut = 0;            // the number of bytes that are missing at the end of each answer

 private:
  static constexpr size_t kHeader = 12;
  static constexpr size_t kUdpMax = 512;

  struct Watch {
    std::function<void()> call;
    Owned<event, event_free> readable;
  };
  struct Client {
    Descriptor socket;
    std::string got;
    Watch* watch = nullptr;
  };

  bool bind_to(Descriptor& socket, int type) {
    socket = Descriptor(::socket(AF_INET, type | SOCK_NONBLOCK, 0));
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_port = htons(port);
    EXPECT_EQ(inet_pton(AF_INET, address.c_str(), &here.sin_addr), 1);
    socklen_t length = sizeof here;
    if (bind(socket.get(), reinterpret_cast<sockaddr*>(&here), length) != 0) return false;
    EXPECT_EQ(getsockname(socket.get(), reinterpret_cast<sockaddr*>(&here), &length), 0);
    port = ntohs(here.sin_port);
    return true;
  }

  Watch& watch(const Descriptor& socket, std::function<void()> call) {
    Watch& watch = *watches_.emplace_back(std::make_unique<Watch>());
    watch.call = std::move(call);
    watch.readable.reset(event_new(
        base_, socket.get(), EV_READ | EV_PERSIST,
        [](evutil_socket_t, short, void* self) { static_cast<Watch*>(self)->call(); }, &watch));
    event_add(watch.readable.get(), nullptr);
    return watch;
  }

  void answer_by_udp() {
    std::string query(kUdpMax, '\0');
    sockaddr_in from{};
    socklen_t length = sizeof from;
    const ssize_t bytes = recvfrom(udp_.get(), query.data(), query.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &length);
    ASSERT_GT(bytes, static_cast<ssize_t>(kHeader));
    query.resize(static_cast<size_t>(bytes));
    std::string reply = answer_to(query);
    if (reply.empty()) return;
    if (reply.size() > kUdpMax) {  // without records, and with the flag that says so
      reply = query.substr(0, 2) + "\x83\x80" + two_bytes(1) + two_bytes(0) + four_bytes(0) +
              query.substr(kHeader);
    }
    sendto(udp_.get(), reply.data(), reply.size(), 0, reinterpret_cast<sockaddr*>(&from), length);
  }

  void answer_by_tcp(Client& client) {
    char bytes[kUdpMax];
    const ssize_t count = recv(client.socket.get(), bytes, sizeof bytes, 0);
    if (count <= 0) {
      event_del(client.watch->readable.get());
      return;
    }
    client.got.append(bytes, static_cast<size_t>(count));
    if (client.got.size() < 2) return;
    const size_t size = static_cast<unsigned char>(client.got[0]) * 256u +
                        static_cast<unsigned char>(client.got[1]);
    if (client.got.size() < 2 + size) return;
    ++queries_by_tcp;
    std::string reply = answer_to(client.got.substr(2, size));
    client.got.erase(0, 2 + size);
    if (reply.empty()) return;
    reply = two_bytes(reply.size()) + reply;
    EXPECT_EQ(send(client.socket.get(), reply.data(), reply.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(reply.size()));
  }

  // Returns the message that answers `query`; empty: the server does not answer.
  std::string answer_to(const std::string& query) {
    ++queries;
    const std::string name = query.substr(kHeader, query.find('\0', kHeader) + 1 - kHeader);
    if (is_silent || name == labels(silent_about)) return "";
    const std::string question = query.substr(kHeader, name.size() + 4);
    const auto type = static_cast<uint16_t>(question[name.size() + 1]);
    if (silent_about_ipv6 && type == kAaaa) return "";
    const auto known = answers_.find(name);
    std::vector<Record> records;
    if (known != answers_.end()) {
      if (const auto alias = known->second.find(kCname); alias != known->second.end()) {
        records = alias->second;
      }
      const auto& found = known->second[type];
      records.insert(records.end(), found.begin(), found.end());
    }
    std::string reply = query.substr(0, 2) + "\x81" + (known == answers_.end() ? "\x83" : "\x80") +
                        two_bytes(1) + two_bytes(records.size()) + four_bytes(0) + question;
    for (const Record& record : records) {
      reply += record.owner + two_bytes(record.type) + two_bytes(1) + four_bytes(record.ttl) +
               two_bytes(record.data.size()) + record.data;
    }
    reply.resize(reply.size() - std::min(cut, reply.size()));
    return reply;
  }

  event_base* const base_;
  Descriptor udp_;
  Descriptor tcp_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::unique_ptr<Watch>> watches_;
  std::map<std::string, std::map<uint16_t, std::vector<Record>>> answers_;
};

}  // namespace hat
