// SPDX-License-Identifier: Apache-2.0
#include "daemon/thrift/request_check.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "daemon/thrift/theader.h"
#include "daemon/thrift/typed_wire.h"

namespace hat::thrift {
namespace {

size_t varint_bytes(uint32_t value) {
  return std::max<size_t>(1, (static_cast<size_t>(std::bit_width(value)) + 6) / 7);
}

bool is_usual_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == ':';
  });
}

// Returns true if `text` is exactly [1,"name",type,seqid, with the values of `head`.
bool is_usual_json_head(std::string_view text, const Head& head) {
  const auto take = [&text](std::string_view part) {
    if (!text.starts_with(part)) return false;
    text.remove_prefix(part.size());
    return true;
  };
  std::array<char, 12> digits;
  const auto end = std::to_chars(digits.begin(), digits.end(), head.seqid).ptr;
  const char type = static_cast<char>('0' + static_cast<int>(head.type));
  return take(kJsonStart) && take(head.name) && take("\",") && take({&type, 1}) && take(",") &&
         take({digits.data(), static_cast<size_t>(end - digits.data())}) && text == ",";
}

// Reads a struct and compares its fields with the types in the manifest. A template, so that the
// compiler can inline the functions of `Wire`, which reads one encoding.
template <class Wire>
class BodyChecker {
 public:
  BodyChecker(std::span<const std::byte> body, const ArgumentTypes& types)
      : wire_(body), types_(types) {}

  std::optional<BodyFault> run() {
    const bool good = structure(types_.arguments, Kind::kStruct);
    if (good && wire_.at_end()) return std::nullopt;
    return BodyFault{good ? RequestFault::kMalformed : fault_, field_};
  }

 private:
  using Kind = NamedType::Kind;

  bool structure(const FieldSpecs& fields, Kind kind) {
    int outer = 0;
    if (!enter() || !wire_.begin_struct(outer)) return false;
    const size_t first = seen_.size();
    seen_.resize(first + fields.size());
    size_t count = 0;
    TypedField read;
    for (;; ++count) {
      if (!wire_.next_field(read)) return false;
      if (read.is_stop) break;
      field_ = read.id;
      const FieldSpec* field = find_field(fields, read.id);
      if (field == nullptr) {
        if (!unknown(read, kind)) return false;
      } else {
        auto seen = seen_[first + static_cast<size_t>(field - fields.data())];
        if (seen) return false;
        seen = true;
        if (read.type != field->type.wire) return wrong(RequestFault::kWrongType);
        if (read.has_value && !value(field->type, false)) return false;
      }
      if (!wire_.end_field()) return false;
    }
    if (kind == Kind::kUnion && count != 1) return wrong(RequestFault::kBadUnion);
    if (!has_required(fields, first)) return wrong(RequestFault::kMissingField);
    seen_.resize(first);
    --depth_;
    return wire_.end_struct(outer);
  }

  bool has_required(const FieldSpecs& fields, size_t first) {
    for (size_t i = 0; i < fields.size(); ++i) {
      if (!fields[i].required || seen_[first + i]) continue;
      field_ = fields[i].id;
      return false;
    }
    return true;
  }

  // Checks a field that the manifest does not list. Only the request says the type of such a field,
  // so the field is accepted only if its type is one that every server skips correctly.
  bool unknown(const TypedField& field, Kind kind) {
    const bool passes = types_.allow_unknown_fields && kind == Kind::kStruct && field.id > 0 &&
                        !is_container(field.type) && field.type != WireType::kUuid;
    if (!passes) return wrong(RequestFault::kUnknownField);
    return !field.has_value || scalar({.wire = field.type, .is_text = true}, false);
  }

  bool value(const TypeSpec& type, bool is_key) {
    switch (type.wire) {
      case WireType::kStruct: {
        const NamedType& named = types_.types[*type.named];
        return structure(named.fields, named.kind);
      }
      case WireType::kList:
      case WireType::kSet:
        return list(type.elements[0]);
      case WireType::kMap:
        return map(type.elements[0], type.elements[1]);
      default:
        return scalar(type, is_key);
    }
  }

  bool scalar(const TypeSpec& type, bool is_key) {
    Scalar read;
    if (!wire_.scalar(type.wire, is_key, read)) return false;
    if (type.is_text && !is_utf8(read.text)) return wrong(RequestFault::kNotUtf8);
    const bool is_binary = type.wire == WireType::kString && !type.is_text;
    if (is_binary && !Wire::is_binary(read.text)) return false;
    if (type.named && !std::ranges::binary_search(types_.types[*type.named].values, read.number)) {
      return wrong(RequestFault::kUnknownValue);
    }
    return true;
  }

  bool list(const TypeSpec& element) {
    TypedContainer list;
    if (!enter() || !wire_.begin_list(list)) return false;
    // Checks the element type even if the list is empty: a server that rejects the type can
    // continue to read with the bytes after the list.
    if (list.element != element.wire) return wrong(RequestFault::kWrongType);
    --depth_;
    const size_t fixed = element.named ? 0 : Wire::fixed_bytes(element.wire);
    if (fixed > 0) return wire_.skip(uint64_t{list.count} * fixed) && wire_.end_list();
    ++depth_;
    for (uint32_t i = 0; i < list.count; ++i) {
      if (!wire_.next_element(false) || !value(element, false)) return false;
    }
    --depth_;
    return wire_.end_list();
  }

  bool map(const TypeSpec& key, const TypeSpec& element) {
    TypedContainer map;
    if (!enter() || !wire_.begin_map(map)) return false;
    if (map.has_types && (map.key != key.wire || map.element != element.wire)) {
      return wrong(RequestFault::kWrongType);
    }
    for (uint32_t i = 0; i < map.count; ++i) {
      if (!wire_.next_element(true) || !value(key, true)) return false;
      if (!wire_.end_key() || !value(element, false)) return false;
    }
    --depth_;
    return wire_.end_map();
  }

  bool enter() { return ++depth_ <= kNestingMax; }
  bool wrong(RequestFault fault) {
    fault_ = fault;
    return false;
  }

  Wire wire_;
  const ArgumentTypes& types_;
  size_t depth_ = 0;
  // One bit for each field of each open struct: true if the field has occurred in the request. The
  // bits of the innermost struct are last.
  std::vector<bool> seen_;
  RequestFault fault_ = RequestFault::kMalformed;
  int field_ = 0;
};

}  // namespace

bool is_usual_head(std::span<const std::byte> envelope, const Head& head) {
  if (head.type != MessageType::kCall && head.type != MessageType::kOneway) return false;
  if (!is_usual_name(head.name)) return false;
  const auto* at = reinterpret_cast<const uint8_t*>(envelope.data()) + length_bytes(head.framing);
  const auto* const end = reinterpret_cast<const uint8_t*>(envelope.data()) + envelope.size();
  if (has_header(head.framing)) {
    // The header words must be the protocol id in one byte, then zeroes, which mean no transforms,
    // no further headers, and padding.
    const auto* const words = at + kHeaderFixedBytes;
    const size_t bytes = 4 * size_t{big_endian16(at + kHeaderWordsAt)};
    if (words[0] >= 0x80) return false;
    if (!std::all_of(words + 1, words + bytes, [](uint8_t one) { return one == 0; })) return false;
    at += kHeaderFixedBytes + bytes;
  }
  const auto size = static_cast<size_t>(end - at);
  const auto name_bytes = static_cast<uint32_t>(head.name.size());
  switch (head.encoding) {
    case Encoding::kBinary:
      return at[2] == 0;  // third byte of the version word; HeadReader has checked the others
    case Encoding::kBinaryOld:
      return true;  // a head in this encoding has only one spelling
    case Encoding::kCompact:
      return size == 2 + varint_bytes(static_cast<uint32_t>(head.seqid)) +
                         varint_bytes(name_bytes) + name_bytes;
    case Encoding::kJson:
      return is_usual_json_head({reinterpret_cast<const char*>(at), size}, head);
  }
  return false;
}

std::optional<BodyFault> check_body(Encoding encoding, std::span<const std::byte> body,
                                    const ArgumentTypes& types) {
  switch (encoding) {
    case Encoding::kBinary:
    case Encoding::kBinaryOld:
      return BodyChecker<BinaryWire>(body, types).run();
    case Encoding::kCompact:
      return BodyChecker<CompactWire>(body, types).run();
    case Encoding::kJson:
      return BodyChecker<JsonWire>(body, types).run();
  }
  return BodyFault{RequestFault::kMalformed, 0};
}

}  // namespace hat::thrift
