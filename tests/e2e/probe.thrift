# SPDX-License-Identifier: Apache-2.0
// tests/e2e/probe.thrift: a service that uses every type and kind of function that Thrift has.
//
// The hints here are standard annotations, which the stock compiler accepts and ignores;
// kv/hatkv.thrift has hints in the other syntax.

namespace cpp probe
namespace py probe
namespace java probe
namespace go probe
namespace js probe

typedef i64 Instant

enum Colour {
  RED = 1
  GREEN = 2
  BLUE = 7
}

struct Point {
  1: required i32 x
  2: required i32 y
  3: optional string label
}

union Shape {
  1: Point point
  2: double radius
  3: list<Point> polygon
}

struct Empty {}

struct Everything {
  1: bool yes
  2: bool no
  3: i8 tiny
  4: i16 short_one
  5: i32 medium
  6: i64 large
  7: double real
  8: string text
  9: binary blob
  10: Colour colour
  11: Instant instant
  12: Point point
  13: Shape shape
  14: Empty empty
  15: list<i32> numbers
  16: list<Point> points
  17: set<string> words
  18: map<string, i32> counts
  19: map<i32, list<string>> index
  20: list<list<bool>> flags
  21: list<binary> blobs
  22: optional i32 absent
  23: optional string present
  24: list<double> reals
  200: i32 far_away  // its id is too far from the previous one for compact's short form
}

exception DivisionByZero {
  1: i32 numerator
  2: string message
}

exception TooMuch {
  1: i64 limit
}

service Base {
  void ping()

  /** Returns the sum, so that a client notices the answer to another call. */
  i32 add(1: i32 left, 2: i32 right) ( hat.perf_goal = "latency", hat.payload_size = "64" )
}

service Probe extends Base {
  binary echo(1: binary data) ( hat.perf_goal = "throughput" )
  string echo_text(1: string text)
  Everything echo_everything(1: Everything value)
  list<Everything> repeat(1: Everything value, 2: i32 times)

  i32 divide(1: i32 numerator, 2: i32 denominator)
      throws (1: DivisionByZero zero, 2: TooMuch much)

  /** The handler throws an exception that is not declared. */
  void fail(1: string why)

  /** Counts a call for `who`; count() returns the number of these calls and resets it. */
  oneway void note(1: string who)
  i32 count(1: string who)

  /** Answers after `ms` milliseconds. */
  i32 slow(1: i32 ms)

  /** As slow(), but with a deadline of 300 ms. */
  i32 hurried(1: i32 ms) ( hat.timeout_ms = "300" )

  /** Returns `size` bytes; byte i is i modulo 251. */
  binary produce(1: i32 size) ( hat.server.payload_size = "1MiB" )

  /** Returns the number of bytes in `data`. */
  i32 consume(1: binary data)
}

/** Functions that a newer client knows, and the servers of these tests do not. */
service ProbeOfTomorrow extends Probe {
  i32 not_yet(1: i32 value)
  oneway void not_yet_oneway(1: i32 value)
}
