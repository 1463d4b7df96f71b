// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/typed_wire.h: reads the tokens (field headers, counts, values) of a Thrift struct
// that is complete in memory. There is one class for each encoding, and all have the same
// functions. request_check.cc uses them to compare a request with the types in the manifest.
//
// Each function returns false if the bytes are not the expected token, or differ from what Apache
// Thrift's writers write for it (numbers in their shortest form, JSON without white space). Call
// the functions in this order:
//
//   begin_struct()  [next_field() value]…  until a field is_stop
//   begin_list()    [next_element() value]…  end_list()
//   begin_map()     [next_element() key  end_key() value]…  end_map()
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "base/number.h"
#include "config/signature.h"
#include "daemon/thrift/cursor.h"
#include "daemon/thrift/nesting.h"

namespace hat::thrift {

struct TypedField {
  bool is_stop = false;  // the struct ends here; the other members are not set
  WireType type = WireType::kBool;
  int id = 0;
  bool has_value = true;  // false if the field's header has the value (a bool in compact)
};

struct TypedContainer {
  uint32_t count = 0;
  bool has_types = true;           // false for an empty map in compact, which has no types
  WireType key = WireType::kBool;  // set for kMap
  WireType element = WireType::kBool;
};

// The part of a value that request_check.cc uses.
struct Scalar {
  int32_t number = 0;     // the value of a kI32
  std::string_view text;  // the bytes of a kString; in JSON, those between the quotes
};

constexpr bool is_container(WireType type) { return type >= WireType::kStruct; }

// Returns the next `bytes` bytes, or fewer if the input ends before.
inline std::string_view text_at(const Cursor& in, uint64_t bytes) {
  return {reinterpret_cast<const char*>(in.at), std::min<size_t>(bytes, in.left())};
}

// Reads TBinaryProtocol.
class BinaryWire {
 public:
  explicit BinaryWire(std::span<const std::byte> body)
      : in_{reinterpret_cast<const uint8_t*>(body.data()),
            reinterpret_cast<const uint8_t*>(body.data()) + body.size()} {}

  bool at_end() const { return in_.left() == 0; }
  bool begin_struct(int&) { return true; }
  bool end_struct(int) { return true; }

  bool next_field(TypedField& field) {
    if (in_.left() == 0) return false;
    field.is_stop = *in_.at == 0;
    if (field.is_stop) return skip(1);
    if (in_.left() < 3) return false;
    const auto type = type_of(in_.at[0]);
    field.type = type.value_or(WireType::kBool);
    field.id = static_cast<int16_t>(big_endian16(in_.at + 1));
    in_.at += 3;
    return type.has_value();
  }
  bool end_field() { return true; }

  bool begin_list(TypedContainer& list) {
    if (in_.left() < 5) return false;
    const auto element = type_of(in_.at[0]);
    list.count = big_endian32(in_.at + 1);
    in_.at += 5;
    list.element = element.value_or(WireType::kBool);
    return element.has_value() && list.count <= kCountMax;
  }
  bool end_list() { return true; }
  bool begin_map(TypedContainer& map) {
    if (in_.left() < 6) return false;
    const auto key = type_of(in_.at[0]), element = type_of(in_.at[1]);
    map.count = big_endian32(in_.at + 2);
    in_.at += 6;
    if (!key || !element || map.count > kCountMax) return false;
    map.key = *key;
    map.element = *element;
    return true;
  }
  bool end_map() { return true; }
  bool next_element(bool) { return true; }
  bool end_key() { return true; }

  bool scalar(WireType type, bool /*is_key*/, Scalar& value) {
    const uint8_t* const at = in_.at;
    if (type != WireType::kString) {
      if (!skip(type == WireType::kBool ? 1 : fixed_bytes(type))) return false;
      if (type == WireType::kI32) value.number = static_cast<int32_t>(big_endian32(at));
      return type != WireType::kBool || *at <= 1;
    }
    if (in_.left() < 4) return false;
    const uint32_t bytes = big_endian32(at);
    in_.at += 4;
    value.text = text_at(in_, bytes);
    return bytes <= kCountMax && skip(bytes);
  }
  static bool is_binary(std::string_view) { return true; }
  // Returns the size in bytes of a value of `type`, if all values have this size and any bytes are
  // a valid value; otherwise returns 0.
  static constexpr size_t fixed_bytes(WireType type) {
    constexpr std::array<uint8_t, 8> kBytes = {0, 1, 2, 4, 8, 8, 0, 16};
    return is_container(type) ? 0 : kBytes[static_cast<size_t>(type)];
  }
  bool skip(uint64_t bytes) {
    if (bytes > in_.left()) return false;
    in_.at += bytes;
    return true;
  }

 private:
  static std::optional<WireType> type_of(uint8_t type) {
    switch (type) {
      case 2:
        return WireType::kBool;
      case 3:
        return WireType::kI8;
      case 4:
        return WireType::kDouble;
      case 6:
        return WireType::kI16;
      case 8:
        return WireType::kI32;
      case 10:
        return WireType::kI64;
      case 11:
        return WireType::kString;
      case 12:
        return WireType::kStruct;
      case 13:
        return WireType::kMap;
      case 14:
        return WireType::kSet;
      case 15:
        return WireType::kList;
      case 16:
        return WireType::kUuid;
      default:
        return std::nullopt;
    }
  }

  Cursor in_;
};

// Reads TCompactProtocol.
class CompactWire {
 public:
  explicit CompactWire(std::span<const std::byte> body)
      : in_{reinterpret_cast<const uint8_t*>(body.data()),
            reinterpret_cast<const uint8_t*>(body.data()) + body.size()} {}

  bool at_end() const { return in_.left() == 0; }
  // Starts a struct. A field's id is encoded as the difference to the previous id, so `outer`
  // receives the last id in the enclosing struct, for end_struct().
  bool begin_struct(int& outer) {
    outer = last_id_;
    last_id_ = 0;
    return true;
  }
  bool end_struct(int outer) {
    last_id_ = outer;
    return true;
  }

  bool next_field(TypedField& field) {
    if (in_.left() == 0) return false;
    const uint8_t header = *in_.at++;
    field.is_stop = header == 0;
    if (field.is_stop) return true;
    const uint8_t delta = header >> 4;
    const auto type = type_of(header & 0x0f);
    field.type = type.value_or(WireType::kBool);
    field.has_value = (header & 0x0f) > kFalse;
    field.id = last_id_ + delta;
    if (delta == 0) {
      uint64_t zigzag = 0;
      if (!varint(zigzag, UINT16_MAX)) return false;
      field.id = static_cast<int>(zigzag >> 1) ^ -static_cast<int>(zigzag & 1);
    }
    last_id_ = field.id;
    return type.has_value() && field.id <= INT16_MAX;
  }
  bool end_field() { return true; }

  bool begin_list(TypedContainer& list) {
    if (in_.left() == 0) return false;
    const uint8_t header = *in_.at++;
    uint64_t count = header >> 4;
    if (count == 15 && (!varint(count, kCountMax) || count < 15)) return false;
    list.count = static_cast<uint32_t>(count);
    const auto element = element_type_of(header & 0x0f);
    list.element = element.value_or(WireType::kBool);
    return element.has_value();
  }
  bool end_list() { return true; }
  bool begin_map(TypedContainer& map) {
    uint64_t count = 0;
    if (!varint(count, kCountMax)) return false;
    map.count = static_cast<uint32_t>(count);
    map.has_types = count > 0;
    if (!map.has_types) return true;
    if (in_.left() == 0) return false;
    const uint8_t types = *in_.at++;
    const auto key = element_type_of(types >> 4), element = element_type_of(types & 0x0f);
    if (!key || !element) return false;
    map.key = *key;
    map.element = *element;
    return true;
  }
  bool end_map() { return true; }
  bool next_element(bool) { return true; }
  bool end_key() { return true; }

  bool scalar(WireType type, bool /*is_key*/, Scalar& value) {
    uint64_t bits = 0;
    switch (type) {
      case WireType::kBool:  // only in a container; a bool field has its value in its header
        return in_.left() > 0 && (*in_.at == kTrue || *in_.at == kFalse) && skip(1);
      case WireType::kI16:
        return varint(bits, UINT16_MAX);
      case WireType::kI32:
        if (!varint(bits, UINT32_MAX)) return false;
        value.number = static_cast<int32_t>((bits >> 1) ^ (0 - (bits & 1)));
        return true;
      case WireType::kI64:
        return varint(bits, UINT64_MAX);
      case WireType::kString:
        if (!varint(bits, kCountMax)) return false;
        value.text = text_at(in_, bits);
        return skip(bits);
      default:
        return skip(fixed_bytes(type));
    }
  }
  static bool is_binary(std::string_view) { return true; }
  static constexpr size_t fixed_bytes(WireType type) {
    constexpr std::array<uint8_t, 8> kBytes = {0, 1, 0, 0, 0, 8, 0, 16};
    return is_container(type) ? 0 : kBytes[static_cast<size_t>(type)];
  }
  bool skip(uint64_t bytes) {
    if (bytes > in_.left()) return false;
    in_.at += bytes;
    return true;
  }

 private:
  static constexpr uint8_t kTrue = 1;
  static constexpr uint8_t kFalse = 2;  // the type of a bool field is also its value: kTrue, kFalse

  static std::optional<WireType> type_of(uint8_t type) {
    constexpr std::array<WireType, 13> kTypes = {
        WireType::kBool, WireType::kBool,   WireType::kI8,     WireType::kI16,  WireType::kI32,
        WireType::kI64,  WireType::kDouble, WireType::kString, WireType::kList, WireType::kSet,
        WireType::kMap,  WireType::kStruct, WireType::kUuid};
    if (type == 0 || type > kTypes.size()) return std::nullopt;
    return kTypes[type - 1];
  }
  // Returns the type of a container's elements. Refuses kFalse: Apache Thrift's writers use kTrue
  // as the type of bools, and Rust's reader rejects kFalse and then continues with the bytes after
  // it.
  static std::optional<WireType> element_type_of(uint8_t type) {
    return type == kFalse ? std::nullopt : type_of(type);
  }

  // Reads a varint. Returns false if it is not in its shortest form, or exceeds `max`.
  bool varint(uint64_t& value, uint64_t max) {
    value = 0;
    for (unsigned shift = 0; in_.left() > 0 && shift < 64; shift += 7) {
      const uint8_t byte = *in_.at++;
      const uint64_t bits = byte & 0x7f;
      if (bits << shift >> shift != bits) return false;  // the integer exceeds 64 bits
      value |= bits << shift;
      if (byte < 0x80) return value <= max && (byte != 0 || shift == 0);
    }
    return false;
  }

  Cursor in_;
  int last_id_ = 0;
};

// Reads TJSONProtocol.
class JsonWire {
 public:
  explicit JsonWire(std::span<const std::byte> body)
      : rest_(reinterpret_cast<const char*>(body.data()), body.size()) {}

  bool at_end() const { return rest_ == "]"; }  // only the bracket that ends the message is left
  bool begin_struct(int&) {
    is_first_ = true;
    return take("{");
  }
  bool end_struct(int) {
    is_first_ = false;
    return true;
  }

  bool next_field(TypedField& field) {
    field.is_stop = take("}");
    if (field.is_stop) return true;
    if (!is_first_ && !take(",")) return false;
    is_first_ = false;
    int64_t id = 0;
    if (!take("\"") || !integer(id, INT16_MIN, INT16_MAX) || !take("\":{")) return false;
    field.id = static_cast<int>(id);
    const auto type = type_word();
    field.type = type.value_or(WireType::kBool);
    return type.has_value() && take(":");
  }
  bool end_field() { return take("}"); }

  bool begin_list(TypedContainer& list) {
    int64_t count = 0;
    if (!take("[")) return false;
    const auto element = type_word();
    if (!element || !take(",") || !integer(count, 0, kCountMax)) return false;
    list.count = static_cast<uint32_t>(count);
    list.element = *element;
    return true;
  }
  bool end_list() { return take("]"); }
  bool begin_map(TypedContainer& map) {
    int64_t count = 0;
    if (!take("[")) return false;
    const auto key = type_word();
    if (!key || !take(",")) return false;
    const auto element = type_word();
    if (!element || !take(",") || !integer(count, 0, kCountMax) || !take(",{")) return false;
    map.count = static_cast<uint32_t>(count);
    map.key = *key;
    map.element = *element;
    is_first_ = true;
    // Refuses keys that are containers, because writers spell such keys in different ways.
    return !is_container(*key) || count == 0;
  }
  bool end_map() {
    is_first_ = false;
    return take("}]");
  }
  bool next_element(bool in_map) {
    const bool first_of_map = in_map && is_first_;
    is_first_ = false;
    return first_of_map || take(",");
  }
  bool end_key() { return take(":"); }

  bool scalar(WireType type, bool is_key, Scalar& value) {
    if (type == WireType::kString) return string(value.text);
    if (type == WireType::kUuid) return string(value.text) && is_uuid(value.text);
    if (type == WireType::kDouble && special_number()) return true;
    if (!is_key) return number(type, value);
    return take("\"") && number(type, value) && take("\"");
  }
  // Returns true if `text` is Base64. Some writers omit the padding.
  static bool is_binary(std::string_view text) {
    const size_t digits = std::min(text.find('='), text.size());
    const bool is_padded = digits < text.size();
    return (is_padded ? text.size() % 4 == 0 : digits % 4 != 1) && text.size() - digits <= 2 &&
           text.substr(digits).find_first_not_of('=') == std::string_view::npos &&
           std::ranges::all_of(text.substr(0, digits), [](char c) {
             return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                    c == '+' || c == '/';
           });
  }
  static constexpr size_t fixed_bytes(WireType) { return 0; }
  bool skip(uint64_t) { return false; }

 private:
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  std::optional<WireType> type_word() {
    // The words for the types in JSON, indexed by WireType.
    constexpr std::array<std::string_view, 12> kWords = {
        "\"tf\"",  "\"i8\"",  "\"i16\"", "\"i32\"", "\"i64\"", "\"dbl\"",
        "\"str\"", "\"uid\"", "\"rec\"", "\"lst\"", "\"set\"", "\"map\""};
    for (size_t i = 0; i < kWords.size(); ++i) {
      if (take(kWords[i])) return static_cast<WireType>(i);
    }
    return std::nullopt;
  }

  // Reads an integer from `min` to `max`. Refuses a plus sign, leading zeros and -0.
  bool integer(int64_t& value, int64_t min, int64_t max) {
    const bool negative = take("-");
    size_t digits = 0;
    uint64_t magnitude = 0;
    while (digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') {
      if (digits == 19) return false;
      magnitude = 10 * magnitude + static_cast<uint64_t>(rest_[digits++] - '0');
    }
    const bool is_shortest =
        digits == 1 ? !(negative && rest_[0] == '0') : digits > 1 && rest_[0] != '0';
    if (!is_shortest) return false;
    rest_.remove_prefix(digits);
    const uint64_t limit = negative ? uint64_t{1} << 63 : (uint64_t{1} << 63) - 1;
    if (magnitude > limit) return false;
    value = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
    return value >= min && value <= max;
  }

  bool number(WireType type, Scalar& read) {
    int64_t value = 0;
    switch (type) {
      case WireType::kBool:
        return integer(value, 0, 1);
      case WireType::kI8:
        return integer(value, INT8_MIN, INT8_MAX);
      case WireType::kI16:
        return integer(value, INT16_MIN, INT16_MAX);
      case WireType::kI32:
        if (!integer(value, INT32_MIN, INT32_MAX)) return false;
        read.number = static_cast<int32_t>(value);
        return true;
      case WireType::kI64:
        return integer(value, INT64_MIN, INT64_MAX);
      default:
        return floating();
    }
  }

  // Reads NaN or an infinity. JSON writers put quotes around these values, not only in map keys.
  bool special_number() { return take("\"NaN\"") || take("\"Infinity\"") || take("\"-Infinity\""); }
  // Reads a number. Returns false if a double cannot hold it.
  bool floating() {
    const std::string_view begin = rest_;
    return spelt_as_json() &&
           parse_number<double>(begin.substr(0, begin.size() - rest_.size())).has_value();
  }
  bool spelt_as_json() {
    take("-");
    const bool begins_with_zero = rest_.starts_with("0");
    const size_t digits = some_digits();
    if (digits == 0 || (begins_with_zero && digits > 1)) return false;
    if (take(".") && some_digits() == 0) return false;
    if (!take("e") && !take("E")) return true;
    if (!take("-")) take("+");
    return some_digits() > 0;
  }
  size_t some_digits() {
    const size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    rest_.remove_prefix(digits);
    return digits;
  }

  // Reads a string. Sets `text` to the bytes between the quotes.
  bool string(std::string_view& text) {
    if (!take("\"")) return false;
    const std::string_view begin = rest_;
    while (!rest_.empty() && rest_[0] != '"') {
      if (static_cast<unsigned char>(rest_[0]) < ' ') return false;
      const bool is_escape = rest_[0] == '\\';
      rest_.remove_prefix(1);
      if (is_escape && !escaped()) return false;
    }
    text = begin.substr(0, begin.size() - rest_.size());
    return take("\"");
  }
  // Reads an escape after its backslash. Refuses an escaped slash, which JSON allows but libthrift
  // does not read.
  bool escaped() {
    if (rest_.empty()) return false;
    const char letter = rest_[0];
    rest_.remove_prefix(1);
    if (letter != 'u') return std::string_view("\"\\bfnrt").contains(letter);
    uint32_t unit = 0, low = 0;
    if (!code_unit(unit)) return false;
    const bool is_high = unit >= 0xd800 && unit < 0xdc00;  // the first half of a surrogate pair
    if (!is_high) return unit < 0xdc00 || unit > 0xdfff;
    return take("\\u") && code_unit(low) && low >= 0xdc00 && low <= 0xdfff;
  }
  // Reads four hexadecimal digits. Refuses capital letters: Apache Thrift's writers do not use
  // them, and libthrift does not read them.
  bool code_unit(uint32_t& unit) {
    const std::string_view digits = rest_.substr(0, 4);
    if (digits.size() < 4 || digits.find_first_not_of("0123456789abcdef") != digits.npos) {
      return false;
    }
    unit = *parse_number<uint32_t>(digits, 16);
    rest_.remove_prefix(4);
    return true;
  }

  static bool is_uuid(std::string_view text) {
    if (text.size() != 36) return false;
    for (size_t i = 0; i < text.size(); ++i) {
      const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
      const std::string_view expected = is_dash ? "-" : "0123456789abcdefABCDEF";
      if (!expected.contains(text[i])) return false;
    }
    return true;
  }

  std::string_view rest_;
  bool is_first_ = false;  // no comma precedes the next field or map entry, because it is the first
};

}  // namespace hat::thrift
