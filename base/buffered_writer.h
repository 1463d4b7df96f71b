// SPDX-License-Identifier: Apache-2.0
// base/buffered_writer.h: writes bytes to a ByteStream. If the stream has too little space, the
// writer keeps the rest of the bytes, and writes them when the stream has space again.
//
//   write(), or append() and flush()   write bytes; the writer keeps those that are not accepted
//   on_writable()                      writes the kept bytes. The stream's StreamEvents must call
//                                      this function from their own on_writable()
//
// While the writer keeps bytes, it requests the stream's on_writable(). write(), flush() and
// on_writable() return how many bytes the stream has accepted, and the error if the stream has
// failed. After an error, the owner of the writer must call discard() or destroy the stream.
//
// Bounds   none: the owner must stop adding bytes when size() reaches the owner's limit.
// Memory   as for a ByteQueue (base/byte_queue.h).
// Thread   only the thread of the stream may use the writer.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "base/byte_queue.h"
#include "base/check.h"
#include "base/reactor.h"

namespace hat {

class BufferedWriter {
 public:
  using Bytes = std::span<const std::byte>;
  struct Written {
    size_t bytes = 0;  // the number of bytes that the stream has accepted
    int error = 0;     // an errno value if the stream has failed, else 0
  };

  explicit BufferedWriter(size_t keep_bytes = ByteQueue::kKeepBytes) : waiting_(keep_bytes) {}

  bool empty() const { return waiting_.empty(); }
  size_t size() const { return waiting_.size(); }  // the number of bytes that wait

  // Adds `bytes` to the bytes that wait, without writing them. The next flush() writes them.
  void append(Bytes bytes) { waiting_.append(bytes); }

  // Writes `first` and then `second`, after the bytes that already wait. If no bytes wait, the
  // stream reads `first` and `second` without a copy. The writer keeps a copy of the bytes that the
  // stream does not accept. After an error the writer also keeps these bytes, and on_writable()
  // will return the same error again.
  Written write(ByteStream& stream, Bytes first, Bytes second = {}) {
    Written written;
    if (empty() && !blocked_ && !(first.empty() && second.empty())) {
      written = offer(stream, first, second);
      const size_t of_first = std::min(written.bytes, first.size());
      first = first.subspan(of_first);
      second = second.subspan(written.bytes - of_first);
    }
    append(first);
    append(second);
    if (!empty()) await_writable(stream);
    return written;
  }

  // Requests the stream's on_writable(), even if no bytes wait. Until on_writable(), write() and
  // flush() only keep bytes. Call this for a stream that is still connecting.
  void await_writable(ByteStream& stream) { block(stream, true); }

  // Uses `stream`, which is still connecting, in place of the stream before.
  void continue_on(ByteStream& stream) {
    blocked_ = false;
    await_writable(stream);
  }

  // Writes the bytes that wait. Does nothing while the stream's on_writable() is requested but was
  // not called yet.
  Written flush(ByteStream& stream) { return blocked_ ? Written() : write_waiting(stream); }
  // Writes the bytes that wait. Call this from the stream's on_writable().
  Written on_writable(ByteStream& stream) { return write_waiting(stream); }

  // Drops the bytes that wait, and cancels the request for the stream's on_writable().
  void discard(ByteStream& stream) {
    waiting_.clear();
    block(stream, false);
  }

 private:
  static Written offer(ByteStream& stream, Bytes first, Bytes second) {
    const std::array<iovec, 2> both{{{const_cast<std::byte*>(first.data()), first.size()},
                                     {const_cast<std::byte*>(second.data()), second.size()}}};
    const auto offered = std::span(both).subspan(first.empty() ? 1 : 0);
    const IoResult result = stream.write(second.empty() ? offered.first(1) : offered);
    switch (result.kind) {
      case IoResult::Kind::kOk:
        DCHECK_LE(result.bytes, first.size() + second.size());
        return {result.bytes, 0};
      case IoResult::Kind::kError:
        return {0, result.error};
      case IoResult::Kind::kWouldBlock:
      case IoResult::Kind::kEnd:
        break;
    }
    return {};
  }

  Written write_waiting(ByteStream& stream) {
    Written all;
    while (!empty()) {
      const Written some = offer(stream, waiting_.bytes(), {});
      waiting_.consume(some.bytes);
      all.bytes += some.bytes;
      all.error = some.error;
      if (some.error != 0) return all;
      if (some.bytes == 0) break;
    }
    block(stream, !empty());
    return all;
  }

  void block(ByteStream& stream, bool blocked) {
    if (std::exchange(blocked_, blocked) != blocked) stream.want_write(blocked);
  }

  ByteQueue waiting_;
  bool blocked_ = false;  // true while the stream's on_writable() is requested
};

}  // namespace hat
