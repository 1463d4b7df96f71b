// SPDX-License-Identifier: Apache-2.0
#include "bench/daemons/applications.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/check.h"

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

// Returns a framed message with one field: a call's argument (field 1), or a reply's result (field
// 0).
std::string message_of(char type, const std::string& function, int32_t seqid, size_t bytes) {
  const char field = type == kCall ? 1 : 0;
  const std::string body =
      std::string("\x80\x01\x00", 3) + type + big_endian(static_cast<uint32_t>(function.size())) +
      function + big_endian(static_cast<uint32_t>(seqid)) + std::string{'\x0b', '\0', field} +
      big_endian(static_cast<uint32_t>(bytes)) + std::string(bytes, 'x') + '\0';
  return big_endian(static_cast<uint32_t>(body.size())) + body;
}

constexpr size_t kNameAt = 4 + 4 + 4;

std::string_view name_in(std::span<const std::byte> message) {
  return {reinterpret_cast<const char*>(message.data()) + kNameAt, number_at(message, kNameAt - 4)};
}

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

void Application::send(std::string message) {
  CHECK(unsent_.empty()) << "a message before the end of the last one";
  charge_message(message.size());
  unsent_ = std::move(message);
  write_rest();
}

void Application::write_rest() {
  if (unsent_.empty() || connection_->space(side_) == 0) return;
  const iovec rest{unsent_.data() + sent_, unsent_.size() - sent_};
  sent_ += connection_->write(side_, {&rest, 1});
  if (sent_ < unsent_.size()) return;
  unsent_.clear();
  sent_ = 0;
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
  write_rest();
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

LoadClient::LoadClient(model::Machine& machine, model::Card& card, model::Network& network,
                       const Address& address, const Workload& workload, uint32_t seed,
                       const Window& window, std::vector<FunctionCalls>& calls)
    : Application(machine), workload_(workload), random_(seed), window_(window), calls_(calls) {
  use(network.connect(machine.schedule(), card, address), Connection::Side::kClient);
}

Account LoadClient::account() const {
  Account closed = account_;
  closed.close();
  return closed;
}

// Returns the index of the function to call next.
size_t LoadClient::draw() {
  uint32_t left = static_cast<uint32_t>(random_() % 1000);
  size_t index = 0;
  while (left >= workload_.functions[index].per_mille)
    left -= workload_.functions[index++].per_mille;
  return index;
}

void LoadClient::begin() {
  if (waits() || point(now()) >= window_.end) return;
  begun_ = now();
  function_ = draw();
  const ModelFunction& function = workload_.functions[function_];
  send(message_of(kCall, function.name, ++call_, function.request_bytes));
}

void LoadClient::on_message(std::span<const std::byte> message) {
  const ModelFunction& function = workload_.functions[function_];
  const std::string right = message_of(kReply, function.name, call_, function.reply_bytes);
  const std::string_view found(reinterpret_cast<const char*>(message.data()), message.size());
  CHECK(found == right) << "a wrong answer: " << found.substr(0, 200);
  const auto time = account_.add_call(window_, point(ended_), point(begun_), point(now()));
  FunctionCalls& calls = calls_[function_];
  if (time) calls.latencies.push_back(std::chrono::duration<double, std::micro>(*time).count());
  if (window_.counts(point(begun_), point(now()))) ++calls.ended;
  ended_ = now();
  answered_ = call_;
  charge(function.check);
}

void ServerThread::on_message(std::span<const std::byte> message) {
  const auto function =
      std::ranges::find(workload_.functions, name_in(message), &ModelFunction::name);
  CHECK(function != workload_.functions.end()) << "a wrong call: " << name_in(message);
  const size_t seqid_at = kNameAt + function->name.size();
  charge(function->work);
  send(message_of(kReply, function->name, static_cast<int32_t>(number_at(message, seqid_at)),
                  function->reply_bytes));
}

Server::Server(model::Machine& machine, model::Card& card, model::Network& network,
               const Address& address, Wire wire, const Workload& workload) {
  network.listen(address, {.wire = wire,
                           .card = &card,
                           .on_connection = [this, &machine, &workload](const auto& connection) {
                             machine.start(*threads_.emplace_back(
                                 std::make_unique<ServerThread>(machine, workload, connection)));
                           }});
}

Time Server::busy() const {
  Time sum{};
  for (const auto& thread : threads_) sum += thread->busy();
  return sum;
}

}  // namespace hat::bench
