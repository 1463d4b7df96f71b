// SPDX-License-Identifier: Apache-2.0
#include "daemon/thrift/checked_service.h"

#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/protocol/TJSONProtocol.h>
#include <thrift/transport/TBufferTransports.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <span>

#include "Checked.h"
#include "daemon/thrift/envelope.h"

namespace hat::thrift {
namespace {

using apache::thrift::protocol::TProtocol;
using apache::thrift::transport::TFramedTransport;
using apache::thrift::transport::TMemoryBuffer;
using apache::thrift::transport::TTransport;
using namespace std::string_view_literals;

std::shared_ptr<TProtocol> protocol_of(Encoding encoding,
                                       const std::shared_ptr<TTransport>& memory) {
  namespace protocol = apache::thrift::protocol;
  switch (encoding) {
    case Encoding::kBinary:
      return std::make_shared<protocol::TBinaryProtocol>(memory);
    case Encoding::kBinaryOld:
      return std::make_shared<protocol::TBinaryProtocol>(memory, 0, 0, false, false);
    case Encoding::kCompact:
      return std::make_shared<protocol::TCompactProtocol>(memory);
    case Encoding::kJson:
      return std::make_shared<protocol::TJSONProtocol>(memory);
  }
  return nullptr;
}

class Chooser {
 public:
  explicit Chooser(std::mt19937& random) : random_(random) {}

  size_t below(size_t bound) { return random_() % bound; }
  bool chance(size_t percent) { return below(100) < percent; }
  int64_t number() { return chance(50) ? static_cast<int64_t>(below(200)) - 100 : far_number(); }
  std::string text() {
    static constexpr std::array<std::string_view, 20> kLetters = {"a",
                                                                  "b",
                                                                  "c",
                                                                  "\"",
                                                                  "\\",
                                                                  "/",
                                                                  ":",
                                                                  ",",
                                                                  "{",
                                                                  "}",
                                                                  "[",
                                                                  "]",
                                                                  " ",
                                                                  "u",
                                                                  "0",
                                                                  "1",
                                                                  "\x01",
                                                                  "\xc3\xa4",
                                                                  "\xe2\x82\xac",
                                                                  "\xf0\x9f\x98\x80"};
    std::string text;
    for (size_t i = below(chance(5) ? 300 : 12); i > 0; --i)
      text += kLetters[below(kLetters.size())];
    return text;
  }
  std::string bytes() {
    std::string bytes(below(20), '\0');
    for (char& c : bytes) c = static_cast<char>(random_());
    return bytes;
  }
  template <class Make>
  auto list(Make make) {
    std::vector<decltype(make())> values(below(chance(3) ? 40 : 4));
    for (size_t i = 0; i < values.size(); ++i) values[i] = make();
    return values;
  }

  Node node(int depth = 0) {
    Node node;
    const auto deeper = [&] { return depth < 4 ? this->node(depth + 1) : leaf(); };
    const auto has = [&] { return chance(40); };
    node.__set_number(static_cast<int32_t>(number()));
    if (has()) node.__set_children(list(deeper));
    if (has()) node.times[text()] = list([&] { return number(); });
    if (has()) node.words = {text(), text()};
    node.__set_flag(has());
    node.__set_size(static_cast<double>(number()) / 8);
    node.__set_tiny(static_cast<int8_t>(number()));
    node.__set_small(static_cast<int16_t>(number()));
    if (has()) node.__set_bytes(bytes());
    if (has()) node.__set_flags(list([&] { return chance(50); }));
    if (chance(15)) node.nodes[static_cast<int32_t>(number())] = deeper();
    node.__set_either(either());
    if (has()) node.lines = {{text()}, {}, {text(), text()}};
    node.__set_colour(chance(50) ? Colour::RED : Colour::BLUE);
    if (chance(15)) node.__set_needs(list([&] { return needy(depth); }));
    if (has()) node.halves[has()] = 0.5;
    if (has()) node.marks[text()] = has();
    node.__set_far(far_number());
    return node;
  }
  // Returns a node without children. Sets its union to a value, which Node() does not: the code of
  // other languages does not accept a union without a value.
  Node leaf() {
    Node node;
    node.either.__set_text(text());
    return node;
  }
  Needy needy(int depth) {
    Needy needy;
    needy.name = text();
    needy.colour = chance(50) ? Colour::RED : Colour::BLUE;
    if (depth < 3 && chance(20)) needy.__set_more(list([&] { return this->needy(depth + 1); }));
    return needy;
  }
  Either either() {
    Either either;
    if (chance(50)) {
      either.__set_text(text());
    } else {
      either.__set_sizes({0.5, static_cast<double>(number())});
    }
    return either;
  }

 private:
  int64_t far_number() { return static_cast<int64_t>(uint64_t{random_()} << 32 | random_()); }

  std::mt19937& random_;
};

template <class Arguments>
void write_call(TProtocol& out, const char* name, const Arguments& arguments, int32_t id) {
  const bool oneway = std::is_same_v<Arguments, Checked_note_args>;
  out.writeMessageBegin(
      name, oneway ? apache::thrift::protocol::T_ONEWAY : apache::thrift::protocol::T_CALL, id);
  arguments.write(&out);
  out.writeMessageEnd();
}

// A service that records the names of the functions that are called.
class Notes : public CheckedIf {
 public:
  explicit Notes(std::vector<std::string>& calls) : calls_(calls) {}

  void none() override { calls_.emplace_back("none"); }
  int64_t add(int64_t, int64_t) override {
    calls_.emplace_back("add");
    return 0;
  }
  void put(const std::string&, const Node&) override { calls_.emplace_back("put"); }
  void many(std::vector<std::string>&, const std::vector<std::string>&,
            const std::map<std::string, Node>&, const std::set<int16_t>&) override {
    calls_.emplace_back("many");
  }
  void note(const std::set<int64_t>&, bool, const std::vector<Either>&) override {
    calls_.emplace_back("note");
  }
  void danger(const std::string&) override { calls_.emplace_back("danger"); }

 private:
  std::vector<std::string>& calls_;
};

// The types and functions of checked.thrift, as hintgen writes them into a manifest.
struct Signatures {
  NamedTypes types = {{.name = "Node"},
                      {.name = "Either", .kind = NamedType::Kind::kUnion},
                      {.name = "Needy"},
                      {.name = "Colour", .kind = NamedType::Kind::kEnum, .values = {1, 2}}};
  std::map<std::string, FieldSpecs, std::less<>> functions;

  Signatures() {
    const auto fields_of = [this](std::initializer_list<std::pair<int, const char*>> texts) {
      FieldSpecs fields;
      for (const auto& [id, text] : texts) {
        FieldSpec field = parse_field(text, types).value();
        field.id = static_cast<int16_t>(id);
        add_field(fields, std::move(field));
      }
      return fields;
    };
    types[0].fields = fields_of({{1, "i32"},
                                 {2, "list<Node>"},
                                 {3, "map<string,list<i64>>"},
                                 {4, "set<string>"},
                                 {5, "bool"},
                                 {6, "double"},
                                 {7, "i8"},
                                 {8, "i16"},
                                 {9, "binary"},
                                 {10, "list<bool>"},
                                 {11, "map<i32,Node>"},
                                 {12, "Either"},
                                 {13, "list<list<string>>"},
                                 {14, "i32"},
                                 {15, "list<Needy>"},
                                 {20, "map<bool,double>"},
                                 {21, "map<string,bool>"},
                                 {300, "i64"}});
    types[1].fields = fields_of({{1, "string"}, {2, "list<double>"}});
    types[2].fields =
        fields_of({{1, "required string"}, {2, "required Colour"}, {3, "list<Needy>"}});
    functions["none"] = {};
    functions["add"] = fields_of({{1, "i64"}, {2, "i64"}});
    functions["put"] = fields_of({{1, "string"}, {2, "Node"}});
    functions["many"] = fields_of({{1, "list<string>"}, {2, "map<string,Node>"}, {3, "set<i16>"}});
    functions["note"] = fields_of({{1, "set<i64>"}, {2, "bool"}, {3, "list<Either>"}});
    functions["danger"] = fields_of({{1, "string"}});
  }
};

const Signatures& signatures() {
  static const Signatures all;
  return all;
}

}  // namespace

std::string checked_request(Encoding encoding, std::mt19937& random) {
  const auto memory = std::make_shared<TMemoryBuffer>();
  const auto out = protocol_of(encoding, memory);
  Chooser choose(random);
  const auto id = static_cast<int32_t>(choose.number());
  switch (choose.below(6)) {
    case 0:
      write_call(*out, "none", Checked_none_args(), id);
      break;
    case 1: {
      Checked_add_args arguments;
      arguments.left = choose.number();
      arguments.right = choose.number();
      write_call(*out, "add", arguments, id);
      break;
    }
    case 2: {
      Checked_put_args arguments;
      arguments.key = choose.text();
      arguments.value = choose.node();
      write_call(*out, "put", arguments, id);
      break;
    }
    case 3: {
      Checked_many_args arguments;
      arguments.keys = choose.list([&] { return choose.text(); });
      arguments.nodes[choose.text()] = choose.node(2);
      arguments.marks = {static_cast<int16_t>(choose.number()), 3};
      write_call(*out, "many", arguments, id);
      break;
    }
    case 4: {
      Checked_note_args arguments;
      arguments.numbers = {choose.number(), choose.number()};
      arguments.flag = choose.chance(50);
      arguments.choices = choose.list([&] { return choose.either(); });
      write_call(*out, "note", arguments, id);
      break;
    }
    default: {
      Checked_danger_args arguments;
      arguments.what = choose.text();
      write_call(*out, "danger", arguments, id);
    }
  }
  return memory->getBufferAsString();
}

StockServed serve_checked(Framing framing, Encoding encoding, std::string_view bytes) {
  StockServed served;
  std::string copy(bytes);
  const auto in = std::make_shared<TMemoryBuffer>(reinterpret_cast<uint8_t*>(copy.data()),
                                                  static_cast<uint32_t>(copy.size()));
  std::shared_ptr<TTransport> transport = in;
  if (framing == Framing::kFramed) transport = std::make_shared<TFramedTransport>(in);
  const auto protocol = protocol_of(encoding, transport);
  CheckedProcessor processor(std::make_shared<Notes>(served.calls));
  try {
    // The loop also asks the framed transport, which can hold the rest of a frame; available_read()
    // of `in` does not include this rest.
    while (in->available_read() > 0 || transport->peek()) {
      const auto out = protocol_of(encoding, std::make_shared<TMemoryBuffer>());
      if (!processor.process(protocol, out, nullptr)) break;
    }
  } catch (const std::exception& error) {
    served.error = std::string("error: ") + error.what();
  }
  return served;
}

std::optional<ArgumentTypes> checked_arguments(std::string_view function, bool allow_unknown) {
  const auto found = signatures().functions.find(function);
  if (found == signatures().functions.end()) return std::nullopt;
  return ArgumentTypes{found->second, signatures().types, allow_unknown};
}

CheckedVerdict verdict_of(std::string_view bytes, bool allow_unknown) {
  const auto unit = std::as_bytes(std::span(bytes));
  MessageReader reader;
  const auto message = read_whole(reader, unit);
  if (!message) return {BodyFault{RequestFault::kNotOneMessage, 0}, ""};
  if (!is_usual_head(unit.first(message->envelope_bytes), reader.head())) {
    return {BodyFault{RequestFault::kUnusualHead, 0}, ""};
  }
  const auto types = checked_arguments(reader.head().name, allow_unknown);
  if (!types) return {BodyFault{RequestFault::kNotListed, 0}, ""};
  const auto fault = check_body(message->encoding, unit.subspan(message->envelope_bytes), *types);
  return {fault, fault ? "" : std::string(reader.head().name)};
}

std::optional<std::string> disagreement(std::string_view bytes, bool allow_unknown) {
  const CheckedVerdict verdict = verdict_of(bytes, allow_unknown);
  if (verdict.fault) return std::nullopt;
  MessageReader reader;
  const auto message = read_whole(reader, std::as_bytes(std::span(bytes)));
  if (message->framing != Framing::kUnframed && message->framing != Framing::kFramed) {
    return std::nullopt;  // serve_checked() cannot read THeader
  }
  const StockServed served = serve_checked(message->framing, message->encoding, bytes);
  if (served.error.empty() && served.calls == std::vector{verdict.function}) return std::nullopt;
  std::string calls;
  for (const std::string& call : served.calls) calls += " " + call;
  return "a call of " + verdict.function + " was taken for:" + calls + " " + served.error;
}

void mutate(std::string& request, const std::string& other, std::mt19937& random) {
  const auto below = [&random](size_t bound) { return bound == 0 ? 0 : random() % bound; };
  // Bytes that often change the meaning of a request: types in binary and compact, counts, and the
  // characters that delimit tokens in JSON.
  constexpr std::string_view kSignificant =
      "\0\1\2\3\4\5\6\7\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x15\x18"
      "\x19\x1a\x1b\x1c\x2c\x7f\x80\x82\xff[]{}:,\"0123\\"sv;
  for (size_t changes = 1 + below(3); changes > 0 && !request.empty(); --changes) {
    const size_t at = below(request.size());
    switch (below(7)) {
      case 0:
        request[at] = static_cast<char>(request[at] ^ (1 << below(8)));
        break;
      case 1:
      case 2:
        request[at] = kSignificant[below(kSignificant.size())];
        break;
      case 3:
        request.insert(at, 1 + below(3), kSignificant[below(kSignificant.size())]);
        break;
      case 4:
        request.erase(at, 1 + below(3));
        break;
      case 5: {  // repeats a part of this request at a random offset
        const std::string part = request.substr(at, 1 + below(16));
        request.insert(below(request.size() + 1), part);
        break;
      }
      default: {
        const size_t from = below(other.size());
        request.insert(at, other.substr(from, below(other.size() - from + 1)));
      }
    }
  }
}

}  // namespace hat::thrift
