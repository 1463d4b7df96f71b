// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/cursor.h: reads input that arrives in pieces. The last token of a piece (such as an
// integer) can continue in the next piece.
//
// Every reader in this folder consumes bytes from a Cursor (the unread part of one piece), keeps an
// incomplete token in a Token or a Varint, and returns kNeedMore only when the Cursor is empty.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hat::thrift {

enum class Progress : uint8_t {
  kNeedMore,  // the cursor is empty; call again with the next piece of input
  kDone,
  kBroken,    // the bytes do not follow the format
  kLongName,  // the message's name is longer than kNameBytesMax
};

struct Cursor {
  const uint8_t* at;
  const uint8_t* end;

  size_t left() const { return static_cast<size_t>(end - at); }
};

template <class Word>
Word big_endian(const uint8_t* p) {
  Word word;
  std::memcpy(&word, p, sizeof word);
  return std::endian::native == std::endian::big ? word : std::byteswap(word);
}
inline uint16_t big_endian16(const uint8_t* p) { return big_endian<uint16_t>(p); }
inline uint32_t big_endian32(const uint8_t* p) { return big_endian<uint32_t>(p); }

// Reads tokens of a known size. Assembles a token whose bytes arrive in several pieces.
class Token {
 public:
  static constexpr size_t kBytesMax = 16;

  // Returns a pointer to the `size` bytes of the token. Returns nullptr if the input ends before
  // the token does; the caller must then call take() again with the same size and more input. The
  // pointer points into the input or into this object: it is valid until the next call, and as long
  // as the input exists.
  const uint8_t* take(Cursor& in, size_t size) {
    if (filled_ == 0 && in.left() >= size) [[likely]] {
      const uint8_t* token = in.at;
      in.at += size;
      return token;
    }
    return gather(in, size);
  }
  bool begun() const { return filled_ > 0; }
  void clear() { filled_ = 0; }

 private:
  [[gnu::noinline]] const uint8_t* gather(Cursor& in, size_t size) {
    const size_t more = std::min(size - filled_, in.left());
    if (more > 0) std::memcpy(bytes_.data() + filled_, in.at, more);
    in.at += more;
    filled_ += static_cast<uint8_t>(more);
    if (filled_ < size) return nullptr;
    filled_ = 0;
    return bytes_.data();
  }

  std::array<uint8_t, kBytesMax> bytes_;
  uint8_t filled_ = 0;
};

// Reads a variable-length integer: 7 bits per byte, the least significant bits first. As in
// libthrift, the integer has at most 10 bytes, and a reader of 32 bits takes the low 32 bits.
class Varint {
 public:
  static constexpr uint8_t kBytesMax = 10;

  Progress take(Cursor& in, uint64_t& value) {
    if (bytes_ == 0 && in.left() > 0 && *in.at < 0x80) [[likely]] {
      value = *in.at++;
      return Progress::kDone;
    }
    return gather(in, value);
  }
  void clear() { bytes_ = 0, value_ = 0; }

 private:
  [[gnu::noinline]] Progress gather(Cursor& in, uint64_t& value) {
    while (in.left() > 0) {
      const uint8_t byte = *in.at++;
      value_ |= uint64_t{byte & 0x7fu} << (7 * bytes_);
      ++bytes_;
      if (byte < 0x80) {
        value = value_;
        clear();
        return Progress::kDone;
      }
      if (bytes_ == kBytesMax) return Progress::kBroken;
    }
    return Progress::kNeedMore;
  }

  uint64_t value_ = 0;
  uint8_t bytes_ = 0;
};

// Skips a number of bytes, which can arrive in any number of pieces.
class Skip {
 public:
  void begin(Cursor& in, uint64_t bytes) {
    const auto now = std::min<uint64_t>(bytes, in.left());
    in.at += now;
    left_ = bytes - now;
  }
  // Continues to skip. Returns false if the input is used up and more bytes must be skipped.
  bool finish(Cursor& in) {
    if (left_ > 0) begin(in, left_);
    return left_ == 0;
  }
  void clear() { left_ = 0; }
  uint64_t left() const { return left_; }

 private:
  uint64_t left_ = 0;
};

}  // namespace hat::thrift
