// SPDX-License-Identifier: Apache-2.0
#include "hatctl/doctor/peer_probe.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace hat::doctor {
namespace {

// A bound port of 127.0.0.1, which accepts connections only if `listens` is true.
class LocalPort {
 public:
  explicit LocalPort(bool listens) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), length), 0);
    if (listens) listen(fd_, 8);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    address_ = {Address::Kind::kTcp, "127.0.0.1", ntohs(address.sin_port), ""};
  }
  ~LocalPort() { close(fd_); }
  LocalPort(const LocalPort&) = delete;
  LocalPort& operator=(const LocalPort&) = delete;
  const Address& address() const { return address_; }

 private:
  const int fd_;
  Address address_;
};

PeerConfig at(const Address& address) { return {.name = "b", .link = address}; }

TEST(PeerProbe, ConnectsAndTellsTheWay) {
  const LocalPort port(true);
  const PeerProbe probe = probe_peer(at(port.address()), true);
  EXPECT_EQ(probe.name, "b");
  EXPECT_TRUE(probe.connected) << probe.connect_error;
  EXPECT_EQ(probe.ip, "127.0.0.1");
  EXPECT_EQ(probe.own_ip, "127.0.0.1");
  EXPECT_GE(probe.path_mtu, 1280u);
  EXPECT_EQ(probe.resolve_error + probe.connect_error, "");
}

TEST(PeerProbe, SaysWhyNobodyAnswers) {
  const LocalPort port(false);
  const PeerProbe probe = probe_peer(at(port.address()), true);
  EXPECT_FALSE(probe.connected);
  EXPECT_EQ(probe.connect_error, "Connection refused");
  const PeerProbe nowhere =
      probe_peer(at({Address::Kind::kUnix, "", 0, "/nowhere/at/all.sock"}), true);
  EXPECT_EQ(nowhere.connect_error, "No such file or directory");
}

TEST(PeerProbe, ConnectsOnlyWhereItIsTold) {
  const LocalPort port(false);
  const PeerProbe probe = probe_peer(at(port.address()), false);
  EXPECT_FALSE(probe.connected);
  EXPECT_EQ(probe.connect_error, "");
  EXPECT_EQ(probe.own_ip, "127.0.0.1");
}

TEST(PeerProbe, SaysWhyNoAddressIsKnown) {
  PeerConfig unknown = at({Address::Kind::kTcp, "host-b", 7471, ""});
  unknown.why_unknown = "the lookup has failed";
  const PeerProbe probe = probe_peer(unknown, true);
  EXPECT_EQ(probe.resolve_error, "the lookup has failed");
  EXPECT_EQ(probe.ip, "");
  EXPECT_FALSE(probe.connected);
}

}  // namespace
}  // namespace hat::doctor
