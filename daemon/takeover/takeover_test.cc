// SPDX-License-Identifier: Apache-2.0
#include "daemon/takeover/takeover.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <thread>

#include "daemon/reactor/socket_address.h"
#include "daemon/takeover/takeover_offer.h"

namespace hat {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kPatience = 20s;

// Plays the old daemon: records the callbacks of its TakeoverOffer.
struct Old final : TakeoverOfferEvents {
  std::vector<std::string> on_successor_ready(int, const std::vector<std::string>& taken) override {
    events.push_back("ready");
    taken_addresses = taken;
    return owned_paths;
  }
  void on_successor_failed(const std::string&) override { events.push_back("failed"); }
  void on_successor_serving(int, std::shared_ptr<Successor> to) override {
    events.push_back("serving");
    successor = std::move(to);
  }
  void on_successor_gone(const std::string&) override { events.push_back("gone"); }

  std::vector<std::string> events;
  std::vector<std::string> taken_addresses;
  std::vector<std::string> owned_paths;
  std::shared_ptr<Successor> successor;
};

struct New final : TakeoverEvents {
  void on_go(const std::vector<std::string>& paths) override {
    events.push_back("go");
    owned_paths = paths;
  }
  void on_refused(const std::string& why) override { events.push_back("refused: " + why); }
  void on_connection(TakenConnection connection) override {
    connections.push_back(std::move(connection));
  }
  void on_server_connection(DetachedConnection connection) override {
    server_connections.push_back(std::move(connection));
  }
  void on_predecessor_left() override { events.push_back("left"); }

  std::vector<std::string> events;
  std::vector<std::string> owned_paths;
  std::vector<TakenConnection> connections;
  std::vector<DetachedConnection> server_connections;
};

class TakeoverTest : public testing::Test {
 protected:
  TakeoverTest() {
    std::string pattern = testing::TempDir() + "hat-takeover-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    node_.node = "host-a";
    node_.admin.socket = folder_ / "admin.sock";
    const Address unix_address{Address::Kind::kUnix, "", 0, folder_ / "app.sock"};
    const Address rings{Address::Kind::kShm, "", 0, folder_ / "app.ring"};
    node_.endpoints = {{unix_address, "Kv", {}}, {rings, "Kv", {}}};
    for (const EndpointConfig& endpoint : node_.endpoints) {
      sockets_.push_back(std::move(*ListenSocket::open(endpoint.listen)));
    }
    const Address offer{Address::Kind::kUnix, "", 0, TakeoverOffer::path(node_)};
    sockets_.push_back(std::move(*ListenSocket::open(offer, 0600, "", SOCK_SEQPACKET)));
    make_offer();
  }
  ~TakeoverTest() override {
    offer_.reset();
    sockets_.clear();
    std::filesystem::remove_all(folder_);
  }

  void make_offer() {
    std::vector<const ListenSocket*> given;
    for (const ListenSocket& socket : sockets_) given.push_back(&socket);
    offer_ = std::make_unique<TakeoverOffer>(base_.get(), node_, sockets_.back(), given, old_);
  }

  void turn_until(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    bool held = holds();
    while (!held && std::chrono::steady_clock::now() < end) {
      event_base_loop(base_.get(), EVLOOP_NONBLOCK);
      std::this_thread::sleep_for(100us);
      held = holds();
    }
    EXPECT_TRUE(held);
  }

  // Calls Takeover::begin() on another thread: it waits for answers of the TakeoverOffer, which
  // runs on this thread.
  Result<std::unique_ptr<Takeover>> begin(const NodeConfig& node) {
    auto begun = std::async(std::launch::async, [&] { return Takeover::begin(node); });
    turn_until([&] { return begun.wait_for(0s) == std::future_status::ready; });
    return begun.get();
  }
  std::unique_ptr<Takeover> must_begin() {
    auto begun = begin(node_);
    EXPECT_TRUE(begun) << begun.error().message;
    return begun ? std::move(*begun) : nullptr;
  }
  // Runs a takeover until the new daemon accepts connections.
  std::unique_ptr<Takeover> take_over() {
    auto takeover = must_begin();
    takeover->say_ready(base_.get(), addresses(), node_, new_);
    turn_until([&] { return new_.events.size() == 1; });
    takeover->say_serving();
    turn_until([&] { return old_.successor != nullptr; });
    return takeover;
  }
  std::vector<std::string> addresses() const {
    std::vector<std::string> all;
    for (const ListenSocket& socket : sockets_) all.push_back(to_string(socket.address()));
    return all;
  }
  std::unique_ptr<TakeoverChannel> connect_raw() {
    Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto where = to_connect_to(sockets_.back().address());
    EXPECT_EQ(
        connect(socket.get(), reinterpret_cast<const sockaddr*>(&where->storage), where->length),
        0);
    return std::make_unique<TakeoverChannel>(std::move(socket));
  }
  // Returns the text of the next message, or of the error if the channel has ended.
  std::string next(TakeoverChannel& channel) {
    std::string text;
    turn_until([&] {
      auto message = channel.receive();
      if (!message) return text = message.error().message, true;
      if (*message) text = (*message)->text;
      return message->has_value();
    });
    return text;
  }

  std::filesystem::path folder_;
  NodeConfig node_;
  Old old_;
  New new_;
  std::vector<ListenSocket> sockets_;
  Owned<event_base, event_base_free> base_{event_base_new()};
  std::unique_ptr<TakeoverOffer> offer_;
};

TEST_F(TakeoverTest, GivesTheSocketsThenTheWordThenTheConnections) {
  old_.owned_paths = {"unix:/its"};
  auto takeover = must_begin();
  ASSERT_TRUE(takeover);
  auto sockets = takeover->take_sockets();
  for (const ListenSocket& socket : sockets_) {
    const auto taken = sockets.take(to_string(socket.address()));
    ASSERT_TRUE(taken) << to_string(socket.address());
    EXPECT_EQ(bound_address(taken->get())->path, socket.address().path);
  }
  takeover->say_ready(base_.get(), addresses(), node_, new_);
  EXPECT_TRUE(old_.events.empty()) << "it has only said that it is ready";
  turn_until([&] { return !new_.events.empty(); });
  EXPECT_THAT(old_.taken_addresses, testing::ElementsAreArray(addresses()));
  EXPECT_THAT(new_.owned_paths, ElementsAre("unix:/its"));
  EXPECT_THAT(old_.events, ElementsAre("ready"));
  takeover->say_serving();
  turn_until([&] { return old_.successor != nullptr; });

  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const Descriptor application(pair[0]);
  {
    const Descriptor ours(pair[1]);
    const std::array descriptors = {ours.get()};
    const std::string read = "half a call";
    ASSERT_TRUE(old_.successor->wants(node_.endpoints[0].listen));
    ASSERT_EQ(old_.successor->take(node_.endpoints[0].listen, descriptors,
                                   {std::as_bytes(std::span(read)), {}}, nullptr),
              Successor::Answer::kTaken);
  }
  turn_until([&] { return !new_.connections.empty(); });
  const TakenConnection& connection = new_.connections.front();
  EXPECT_EQ(connection.endpoint, 0u);
  EXPECT_EQ(connection.read.size(), 11u);
  ASSERT_EQ(send(application.get(), "x", 1, 0), 1);
  char byte = 0;
  ASSERT_EQ(recv(connection.socket.get(), &byte, 1, 0), 1);
  EXPECT_EQ(byte, 'x');

  old_.successor.reset();
  offer_.reset();
  turn_until([&] { return new_.events.size() == 2; });
  EXPECT_THAT(new_.events, ElementsAre("go", "left"));
}

TEST_F(TakeoverTest, GivesConnectionsToServersAndSaysWhoseTheyAre) {
  const auto takeover = take_over();
  const Descriptor none(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::array one = {none.get()};
  KeptServer kept{"host-b", {}};
  for (size_t i = 0; i < kept.token.size(); ++i) kept.token[i] = static_cast<std::byte>(i * 17);
  ASSERT_EQ(old_.successor->take(node_.endpoints[0].listen, one, {}, &kept),
            Successor::Answer::kTaken);
  DetachedConnection server{.token = kept.token, .service = "Kv", .peer = "a\nb"};
  server.descriptors.emplace_back(dup(none.get()));
  ASSERT_EQ(old_.successor->take_server(server), Successor::Answer::kTaken);
  turn_until([&] { return !new_.server_connections.empty(); });
  ASSERT_TRUE(new_.connections.at(0).server);
  EXPECT_EQ(new_.connections[0].server->peer, "host-b");
  EXPECT_EQ(new_.connections[0].server->token, kept.token);
  EXPECT_EQ(new_.server_connections[0].token, kept.token);
  EXPECT_EQ(new_.server_connections[0].peer, "a\nb");
  ASSERT_EQ(new_.server_connections[0].descriptors.size(), 1u);
  EXPECT_GE(fcntl(new_.server_connections[0].descriptors[0].get(), F_GETFD), 0);
}

TEST_F(TakeoverTest, WantsNoConnectionsOfEndpointsThatTheNewOneLacks) {
  auto takeover = must_begin();
  takeover->say_ready(base_.get(), {to_string(node_.endpoints[1].listen)}, node_, new_);
  turn_until([&] { return new_.events.size() == 1; });
  takeover->say_serving();
  turn_until([&] { return old_.successor != nullptr; });
  EXPECT_FALSE(old_.successor->wants(node_.endpoints[0].listen));
  EXPECT_TRUE(old_.successor->wants(node_.endpoints[1].listen));
}

TEST_F(TakeoverTest, DropsWhatIsNoConnectionOfItsEndpoint) {
  const auto takeover = take_over();
  const Descriptor none(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::array one = {none.get()};
  const std::array two = {none.get(), none.get()};
  old_.successor->take(node_.endpoints[0].listen, two, {},
                       nullptr);  // a socket needs one descriptor
  old_.successor->take(node_.endpoints[1].listen, one, {}, nullptr);  // rings need two descriptors
  old_.successor->take(node_.endpoints[1].listen, two, {},
                       nullptr);  // the second descriptor is not the memory of rings
  old_.successor->take(node_.endpoints[0].listen, one, {}, nullptr);
  turn_until([&] { return !new_.connections.empty(); });
  ASSERT_EQ(new_.connections.size(), 1u);
  EXPECT_EQ(new_.connections[0].endpoint, 0u);
}

TEST_F(TakeoverTest, ReportsToTheOldOneWhenItListensNoMore) {
  const auto takeover = take_over();
  const Descriptor none(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::array one = {none.get()};
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_EQ(old_.successor->take(node_.endpoints[0].listen, one, {}, nullptr),
            Successor::Answer::kTaken);
  const rlimit full{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &full), 0);
  turn_until([&] { return new_.events.size() == 2; });  // the process can open no more descriptors
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(new_.events, ElementsAre("go", "left"));
  EXPECT_EQ(old_.successor->take(node_.endpoints[0].listen, one, {}, nullptr),
            Successor::Answer::kNever);
  turn_until([&] { return old_.events.size() == 3; });
  EXPECT_EQ(old_.events.back(), "gone");
}

TEST_F(TakeoverTest, FindsNobody) {
  offer_.reset();
  sockets_.pop_back();
  const auto none = begin(node_);
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_EQ(*none, nullptr);
  node_.admin.socket.clear();
  EXPECT_THAT(begin(node_).error().message, HasSubstr("admin.socket"));
}

TEST_F(TakeoverTest, RefusesAnotherNode) {
  NodeConfig other = node_;
  other.node = "host-b";
  EXPECT_THAT(begin(other).error().message, HasSubstr("this is node 'host-a', not 'host-b'"));
  EXPECT_TRUE(must_begin());
}

TEST_F(TakeoverTest, TakesOneAtATime) {
  const auto first = must_begin();
  EXPECT_THAT(begin(node_).error().message, HasSubstr("another hatrpcd is already taking over"));
}

TEST_F(TakeoverTest, ChangesNothingWhenTheNewOneGivesUpBeforeItIsReady) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(must_begin());
  EXPECT_TRUE(old_.events.empty());
}

TEST_F(TakeoverTest, GoesOnWhenTheNewOneDiesBeforeItAccepts) {
  auto takeover = must_begin();
  takeover->say_ready(base_.get(), addresses(), node_, new_);
  turn_until([&] { return new_.events.size() == 1; });
  takeover.reset();
  turn_until([&] { return old_.events.size() == 2; });
  EXPECT_THAT(old_.events, ElementsAre("ready", "failed"));
  EXPECT_TRUE(must_begin()) << "the next one may";
}

TEST_F(TakeoverTest, HearsWhenTheNewOneDiesLater) {
  auto takeover = take_over();
  takeover.reset();
  turn_until([&] { return old_.events.size() == 3; });
  EXPECT_EQ(old_.events.back(), "gone");
  EXPECT_EQ(old_.successor->take(node_.endpoints[0].listen, {}, {}, nullptr),
            Successor::Answer::kNever);
}

TEST_F(TakeoverTest, TheNewOneGoesOnAloneWhenTheOldOneDies) {
  auto takeover = must_begin();
  offer_.reset();  // the destructor refuses the new daemon, as a daemon does that shuts down
  takeover->say_ready(base_.get(), addresses(), node_, new_);
  turn_until([&] { return !new_.events.empty(); });
  EXPECT_THAT(new_.events, ElementsAre("refused: node host-a is shutting down"));

  // An old daemon that was killed sends no refusal.
  new_.events.clear();
  auto asked = std::async(std::launch::async, [&] { return Takeover::begin(node_); });
  Descriptor accepted;
  turn_until([&] {
    accepted = Descriptor(accept4(sockets_.back().fd(), nullptr, nullptr, SOCK_CLOEXEC));
    return accepted.get() >= 0;
  });
  {
    TakeoverChannel killed(std::move(accepted));
    const std::array fds = {sockets_[0].fd()};
    killed.send(TakeoverKind::kLastListeners, addresses()[0], {}, fds);
    turn_until([&] { return asked.wait_for(0s) == std::future_status::ready; });
    takeover = asked.get().value();
    // Reads the hello: if it stayed unread, the new daemon would see a reset, and not the end of
    // the channel.
    ASSERT_TRUE(killed.receive());
  }
  takeover->say_ready(base_.get(), addresses(), node_, new_);
  turn_until([&] { return new_.events.size() == 2; });
  EXPECT_THAT(new_.events, ElementsAre("go", "left"));
  EXPECT_EQ(new_.owned_paths, addresses());
}

TEST_F(TakeoverTest, RefusesWhoKeepsToNoOrder) {
  for (const TakeoverKind kind : {TakeoverKind::kReady, TakeoverKind::kServing, TakeoverKind::kGo,
                                  TakeoverKind::kConnection}) {
    const auto raw = connect_raw();
    raw->send(kind, "host-a");
    EXPECT_EQ(next(*raw), "the new hatrpcd sent a message that is not allowed in this state");
    EXPECT_EQ(next(*raw), TakeoverChannel::kEnded);
  }
  EXPECT_TRUE(old_.events.empty());
  EXPECT_TRUE(must_begin());
}

TEST_F(TakeoverTest, OutlivesWhoSendsNonsense) {
  const auto raw = connect_raw();
  ASSERT_EQ(send(raw->fd(), "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
  EXPECT_EQ(next(*raw), TakeoverChannel::kEnded);
  EXPECT_TRUE(must_begin());
}

}  // namespace
}  // namespace hat
