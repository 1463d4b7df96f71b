// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/fake_successor.h: a successor for tests, which records the connections that it
// takes. Tests set `wanted`, the result of wants(), and `answer`, that of take() and take_server().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/proxy/inbound/detached_connections.h"
#include "daemon/proxy/successor.h"

namespace hat {

class FakeSuccessor final : public Successor {
 public:
  bool wants(const Address&) const override { return wanted; }
  Answer take(const Address&, std::span<const int> descriptors,
              std::initializer_list<std::span<const std::byte>> read,
              const KeptServer* kept) override {
    if (answer != Answer::kTaken) return answer;
    taken.assign(descriptors.begin(), descriptors.end());
    if (kept != nullptr) server = *kept;
    for (const auto part : read) {
      bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
    }
    return answer;
  }
  Answer take_server(const DetachedConnection& connection) override {
    if (answer == Answer::kTaken) tokens.push_back(connection.token);
    return answer;
  }

  bool wanted = true;
  Answer answer = Answer::kTaken;
  std::vector<int> taken;
  std::string bytes;
  std::optional<KeptServer> server;
  std::vector<engine::ConnectionToken> tokens;
};

}  // namespace hat
