// SPDX-License-Identifier: Apache-2.0
#include "bench/daemons/applications.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace hat::bench {

using model::Connection;
using model::Then;
using model::Time;
using model::Wire;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

constexpr char kCall = 1;
constexpr char kReply = 2;

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

uint32_t number_at(std::span<const std::byte> bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint32_t>(bytes[at + i]);
  return value;
}

// Returns a framed message of the function echo, with one field: the call's argument (field 1), or
// the reply's result (field 0).
std::string echo_message(char type, int32_t seqid, const std::string& payload) {
  const char field = type == kCall ? 1 : 0;
  const std::string body = std::string("\x80\x01\x00", 3) + type + big_endian(4) + "echo" +
                           big_endian(static_cast<uint32_t>(seqid)) +
                           std::string{'\x0b', '\0', field} +
                           big_endian(static_cast<uint32_t>(payload.size())) + payload + '\0';
  return big_endian(static_cast<uint32_t>(body.size())) + body;
}

constexpr size_t kTypeAt = 4 + 3;
constexpr size_t kSeqidAt = 4 + 4 + 4 + 4;
constexpr size_t kPayloadAt = kSeqidAt + 4 + 3 + 4;

Account::Clock::time_point point(Time time) { return Account::Clock::time_point(time); }

}  // namespace

// --- A thread with one connection ---

void Application::use(std::shared_ptr<Connection> connection, Connection::Side side) {
  connection_ = std::move(connection);
  side_ = side;
  connection_->use(side_, *this, nullptr);
}

void Application::charge_message(size_t bytes) {
  const model::Hardware& hardware = machine().hardware();
  charge(hardware.frame + model::time_for(bytes, hardware.copied_per_ns));
}

void Application::send(const std::string& message) {
  charge_message(message.size());
  const iovec all{const_cast<char*>(message.data()), message.size()};
  if (connection_->write(side_, {&all, 1}) == message.size()) return;
  std::fputs("model_echo: a message is larger than a connection's window\n", stderr);
  std::exit(1);
}

// Returns true if a whole message was read, and handled.
bool Application::read_message() {
  while (filled_ < message_.size()) {
    if (!connection_->readable(side_)) return false;
    const size_t bytes = connection_->read(side_, std::span(message_).subspan(filled_));
    if (bytes == 0) return false;
    filled_ += bytes;
    if (filled_ == kLengthBytes) message_.resize(kLengthBytes + number_at(message_, 0));
  }
  charge_message(message_.size());
  on_message(message_);
  message_.resize(kLengthBytes);
  filled_ = 0;
  return true;
}

Then Application::step() {
  polling_.begin_step(std::nullopt);  // no thread of these hosts only computes
  if (waits_ && connection_->readable(side_)) {
    waits_ = false;
    usual_wait_ += (now() - waits_since_ - usual_wait_) / 8;
  }
  begin();
  return read_message() ? Then::kMore : wait();
}

// Waits in the system call that reads from a socket; polls a ring for a while before that.
Then Application::wait() {
  constexpr Time kLeast = microseconds(50);
  constexpr Time kMost = milliseconds(1);
  const bool polls = connection_->wire() == Wire::kRing;
  if (!std::exchange(waits_, true)) {
    waits_since_ = now();
    const Time twice = std::max(2 * usual_wait_, kLeast);
    polling_.start(!polls ? Time(0) : usual_wait_ <= kMost ? std::min(twice, kMost) : kLeast);
  }
  if (!polls) return Then::kSleep;
  charge(machine().hardware().empty_poll);
  if (polling_.again()) return Then::kYield;
  charge(machine().hardware().sleep_call);
  return Then::kSleep;
}

// --- Clients and servers ---

EchoClient::EchoClient(model::Machine& machine, model::Card& card, model::Network& network,
                       const Address& address, size_t bytes, const Window& window,
                       std::vector<double>& latencies)
    : Application(machine), payload_(bytes, 'x'), window_(window), latencies_(latencies) {
  use(network.connect(machine.schedule(), card, address), Connection::Side::kClient);
}

Account EchoClient::account() const {
  Account closed = account_;
  closed.close();
  return closed;
}

void EchoClient::begin() {
  if (waits() || point(now()) >= window_.end) return;
  begun_ = now();
  send(echo_message(kCall, ++call_, payload_));
}

void EchoClient::on_message(std::span<const std::byte> message) {
  const bool is_right = message.size() == kPayloadAt + payload_.size() + 1 &&
                        static_cast<char>(message[kTypeAt]) == kReply &&
                        number_at(message, kSeqidAt) == static_cast<uint32_t>(call_) &&
                        std::ranges::equal(message.subspan(kPayloadAt, payload_.size()),
                                           std::as_bytes(std::span(payload_)));
  if (!is_right) {
    const auto* text = reinterpret_cast<const char*>(message.data());
    std::fprintf(stderr, "model_echo: a wrong answer: %.*s\n", static_cast<int>(message.size()),
                 text);
    std::exit(1);
  }
  const auto time = account_.add_call(window_, point(ended_), point(begun_), point(now()));
  if (time) latencies_.push_back(std::chrono::duration<double, std::micro>(*time).count());
  ended_ = now();
  answered_ = call_;
}

void EchoServerThread::on_message(std::span<const std::byte> message) {
  const auto* bytes = reinterpret_cast<const char*>(message.data());
  const std::string payload(bytes + kPayloadAt, message.size() - kPayloadAt - 1);
  send(echo_message(kReply, static_cast<int32_t>(number_at(message, kSeqidAt)), payload));
}

EchoServer::EchoServer(model::Machine& machine, model::Card& card, model::Network& network,
                       const Address& address, Wire wire) {
  network.listen(
      address,
      {.wire = wire, .card = &card, .on_connection = [this, &machine](const auto& connection) {
         machine.start(
             *threads_.emplace_back(std::make_unique<EchoServerThread>(machine, connection)));
       }});
}

Time EchoServer::busy() const {
  Time sum{};
  for (const auto& thread : threads_) sum += thread->busy();
  return sum;
}

}  // namespace hat::bench
