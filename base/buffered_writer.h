// SPDX-License-Identifier: Apache-2.0
// base/buffered_writer.h: writes bytes to a stream, and keeps those for which the stream has no
// space until it has.
//
//   write(), or append() and flush()     the stream accepts some bytes, and the rest waits here
//   on_writable() of the stream's user   calls on_writable() here, which writes bytes that wait
//
// The writer requests the stream's on_writable() while bytes wait. It never calls its owner: each
// function returns how many bytes the stream has accepted, and the error if the stream has failed.
// After an error the owner calls discard(), or ends the stream.
//
// Bounds   none of its own: the owner stops adding bytes when size() is too large for it.
// Memory   that of a ByteQueue.
// Thread   none of its own.
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
    size_t bytes = 0;  // that the stream has accepted
    int error = 0;     // an errno value if the stream has failed, else 0
  };

  explicit BufferedWriter(size_t keep_bytes = ByteQueue::kKeepBytes) : waiting_(keep_bytes) {}

  bool empty() const { return waiting_.empty(); }
  size_t size() const { return waiting_.size(); }  // the bytes that wait

  // Adds bytes without writing them; the next flush() does that.
  void append(Bytes bytes) { waiting_.append(bytes); }

  // Writes `first` and then `second` after the bytes that wait. If nothing waits, the stream gets
  // them without a copy. The bytes that the stream does not accept wait. After an error they wait,
  // too, and on_writable() follows, which returns the error again.
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

  // Requests on_writable() although nothing may wait, and offers the stream nothing before that.
  // Call it for a stream that is connecting.
  void await_writable(ByteStream& stream) { block(stream, true); }

  // Writes the bytes that wait, unless on_writable() is awaited.
  Written flush(ByteStream& stream) { return blocked_ ? Written() : write_waiting(stream); }
  // Writes the bytes that wait. Call it from the stream's on_writable().
  Written on_writable(ByteStream& stream) { return write_waiting(stream); }

  // Drops the bytes that wait, and awaits on_writable() no more.
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
  bool blocked_ = false;  // on_writable() is awaited
};

}  // namespace hat
