// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/hostile.h"

#include "engine/frame.h"
#include "engine/link/hello.h"

namespace hat::sim {
namespace {

using engine::FrameHeader;
using engine::FrameKind;
using std::chrono::milliseconds;

constexpr Duration kPauseMax = milliseconds(5);
constexpr Duration kStayMax = milliseconds(150);
constexpr std::string_view kMark = "hostile";  // no honest client's payload begins with this text

Message marked(Random& random) {
  constexpr const char* kNames[] = {"echo",          "timed",         "note", "unlisted",
                                    "unlisted_post", "unlisted_note", "none"};
  Message message{.name = kNames[random.below(std::size(kNames))]};
  constexpr MessageType kTypes[] = {MessageType::kCall, MessageType::kOneway, MessageType::kReply,
                                    MessageType::kException};
  message.type = kTypes[random.percent(80) ? random.below(2) : random.below(std::size(kTypes))];
  message.seqid = random.percent(50) ? 0 : static_cast<int32_t>(random.next());
  message.fields = {{1, Field::Kind::kI64, -1, ""},
                    {2, Field::Kind::kText, 0,
                     std::string(kMark) + std::string(random.log_between(0, 20'000), 'x')}};
  return message;
}

void damage(Random& random, std::string& bytes) {
  for (uint64_t count = random.between(1, 3); count != 0 && !bytes.empty(); --count) {
    bytes[random.below(bytes.size())] = static_cast<char>(random.next());
  }
}

// Returns one Thrift frame that contains several messages: 4 bytes of length, then the messages.
std::string several(Random& random, const Dialect& dialect) {
  Dialect bare = dialect;
  bare.framing = Framing::kUnframed;
  std::string body;
  for (uint64_t count = random.between(2, 4); count != 0; --count) {
    Message message = marked(random);
    if (random.percent(30)) message.name = std::string(256, 'n');
    body += encode(bare, message);
  }
  const auto bytes = static_cast<uint32_t>(body.size());
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(bytes >> shift);
  return frame + body;
}

std::string requests(Random& random, const std::string& service, const Dialect& dialect) {
  std::string bytes;
  for (uint64_t count = random.between(1, 6); count != 0; --count) {
    Message message = marked(random);
    if (random.percent(20)) message.name = service + ":" + message.name;
    std::string one = encode(dialect, message);
    switch (random.below(8)) {
      case 0:
        damage(random, one);
        break;
      case 1:
        return bytes + one.substr(0, random.below(one.size()));  // the last message is cut off
      case 2:
        one = several(random, dialect);
        break;
      case 3:
        one = "GET / HTTP/1.1\r\nHost: hostile\r\n\r\n";
        break;
      case 4:
        for (char& c : one) c = static_cast<char>(random.next());
        break;
      case 5:  // many small calls; the hostile client may leave their answers unread
        message.fields[1].text = kMark;
        one.clear();
        for (int i = 0; i < 60; ++i) one += encode(dialect, message);
        break;
      default:
        break;
    }
    bytes += one;
  }
  return bytes;
}

std::string text_of(const void* data, size_t bytes) {
  return {static_cast<const char*>(data), bytes};
}

std::string frame(FrameHeader header, const std::string& payload) {
  header.payload_bytes = static_cast<uint32_t>(payload.size());
  return text_of(&header, sizeof header) + payload;
}

std::string noise(Random& random, uint64_t bytes_max) {
  std::string bytes(random.log_between(0, bytes_max), '\0');
  for (char& c : bytes) c = static_cast<char>(random.next());
  return bytes;
}

std::string call(Random& random, const FrameHeader& header) {
  const Message message = marked(random);
  // In 20 % of the frames, the frame's header names another function than the message.
  const std::string name = random.percent(80) ? message.name : marked(random).name;
  const engine::CallMeta meta{.name_bytes = static_cast<uint16_t>(name.size()),
                              .id = message.seqid};
  std::string request = requests(random, "Mirror", kDialects[random.below(std::size(kDialects))]);
  if (random.percent(70)) request = encode(kDialects[0], message);
  return frame(header, text_of(&meta, sizeof meta) + name + request);
}

// Returns a link's hello and random frames after it, most of them of kinds that the link protocol
// defines.
std::string frames(Random& random, const std::string& target) {
  const char* kNodes[] = {"host-x", "host-a", "host-b"};
  const auto hello = engine::encode({.generation = random.next(),
                                     .legs = static_cast<uint32_t>(random.next()),
                                     .node = kNodes[random.below(std::size(kNodes))],
                                     .peer = random.percent(95) ? target : "host-y"});
  std::string bytes = frame({.kind = FrameKind::kHello}, text_of(hello.data(), hello.size()));
  if (random.percent(5)) bytes.clear();
  uint64_t calls = 0;
  for (uint64_t count = random.between(5, 60); count != 0; --count) {
    FrameHeader header{.stream = static_cast<uint32_t>(random.between(1, 4))};
    header.flags = static_cast<uint8_t>(random.percent(70) ? engine::kLastPiece
                                                           : random.next() & engine::kFlagsKnown);
    header.replies = static_cast<uint16_t>(random.percent(70) ? 1 : random.below(4));
    header.credit = random.percent(80) ? 0 : static_cast<uint32_t>(random.next());
    if (random.percent(50)) {
      constexpr const char* kServices[] = {"Mirror", "Pool", "Pool", "Nobody"};
      header.kind = random.percent(30) ? FrameKind::kOpen : FrameKind::kCall;
      if (header.kind == FrameKind::kCall) header.call = ++calls;
      bytes += header.kind == FrameKind::kCall
                   ? call(random, header)
                   : frame({.kind = header.kind, .stream = header.stream},
                           kServices[random.below(std::size(kServices))]);
      continue;
    }
    header.kind = static_cast<FrameKind>(random.between(
        static_cast<uint64_t>(FrameKind::kPing), static_cast<uint64_t>(FrameKind::kResumed)));
    if (is_of_link(header.kind) && header.kind < FrameKind::kLaneOpen) header.stream = 0;
    if (random.percent(60)) header.call = random.below(calls + 2);
    bytes += frame(header, noise(random, 200));
    if (random.percent(3)) bytes += noise(random, 1000);
  }
  return bytes;
}

std::string answer_to(Dialect dialect, const Message& message) {
  const std::string name(thrift::bare_name(message.name));
  if (name == "note" || name.ends_with("_note")) return "";
  if (dialect.encoding == Encoding::kBinaryOld) dialect.encoding = Encoding::kBinary;
  return encode(dialect, {.type = MessageType::kReply,
                          .name = name,
                          .seqid = message.seqid,
                          .fields = {{0, Field::Kind::kText, 0, std::string(kMark)}}});
}

}  // namespace

AnswerToHostile answer_to_hostile(const Dialect& dialect, const Message& message,
                                  std::string_view frame) {
  AnswerToHostile answer{.bytes = answer_to(dialect, message)};
  if (dialect.framing != Framing::kFramed) return answer;
  Dialect bare = dialect;
  bare.framing = Framing::kUnframed;
  size_t at = length_bytes(dialect.framing);
  for (bool first = true; at < frame.size(); first = false) {
    const Decoded next = decode(bare, frame.substr(at));
    answer.to_all = next.kind == Decoded::Kind::kMessage;
    if (!answer.to_all) break;
    at += next.bytes;
    if (!first) answer.bytes += answer_to(dialect, next.message);
  }
  return answer;
}

Hostile::Hostile(SimNetwork& network, Plays plays, Address target, std::string service,
                 const std::string& name, uint64_t seed)
    : network_(network),
      host_(network, name, seed),
      plays_(plays),
      target_(std::move(target)),
      service_(std::move(service)),
      random_(seed),
      next_(host_.timer([this] { next(); })) {}

Hostile::~Hostile() = default;

void Hostile::start(TimePoint until) {
  until_ = until;
  next_->set(network_.now() + random_.between(Duration(0), kPauseMax));
}

void Hostile::next() {
  if (!stream_) return connect();
  if (!out_.empty() && host_.now() < until_) return push();
  leave();
}

void Hostile::connect() {
  if (host_.now() >= until_) return;
  network_.say(host_.name() + " connects");
  const Dialect& dialect = kDialects[random_.below(std::size(kDialects))];
  out_ =
      plays_ == Plays::kClient ? requests(random_, service_, dialect) : frames(random_, service_);
  reads_ = random_.percent(60);
  stream_ = host_.connect(target_, *this);
  stream_->want_read(reads_);
  push();
}

void Hostile::push() {
  stream_->want_write(false);
  Duration pause = random_.between(Duration(0), kPauseMax);
  if (!out_.empty()) {
    const size_t piece = random_.percent(60) ? out_.size() : random_.between(1, out_.size());
    const iovec one{out_.data(), piece};
    const IoResult result = stream_->write({&one, 1});
    if (result.kind == IoResult::Kind::kError) return leave();
    if (result.kind == IoResult::Kind::kOk) {
      out_.erase(0, result.bytes);
      if (out_.empty() && random_.percent(20)) stream_->shutdown_write();
    } else {
      stream_->want_write(true);
      pause = kStayMax;
    }
  }
  if (out_.empty()) pause = random_.between(Duration(0), kStayMax);
  next_->set(std::min(host_.now() + pause, std::max(until_, host_.now())));
}

void Hostile::on_readable() {
  std::vector<std::byte> space(64 * 1024);
  const IoResult result = stream_->read(space);
  if (result.kind == IoResult::Kind::kEnd || result.kind == IoResult::Kind::kError) leave();
}

void Hostile::leave() {
  network_.say(host_.name() + " leaves");
  if (random_.percent(50)) stream_->abort_on_close();
  stream_->want_read(false);
  stream_->want_write(false);
  ended_ = std::move(stream_);
  out_.clear();
  host_.post([this] { ended_.reset(); });
  next_->set(host_.now() + random_.between(Duration(0), kPauseMax));
}

}  // namespace hat::sim
