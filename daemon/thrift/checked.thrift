# SPDX-License-Identifier: Apache-2.0
// daemon/thrift/checked.thrift: functions with every kind of argument, for tests of request_check.h. No
// function does any work: the tests check which function the stock generated code would call.

namespace go checked
namespace java checked
namespace py checked

enum Colour { RED = 1, BLUE = 2 }
typedef list<i64> Times

union Either {
  1: string text
  2: list<double> sizes
}

struct Needy {
  1: required string name
  2: required Colour colour
  3: optional list<Needy> more
}

struct Node {
  1: i32 number
  2: list<Node> children
  3: map<string, Times> times
  4: set<string> words
  5: bool flag
  6: double size
  7: i8 tiny
  8: i16 small
  9: binary bytes
  10: list<bool> flags
  11: map<i32, Node> nodes
  12: Either either
  13: list<list<string>> lines
  14: Colour colour
  15: list<Needy> needs
  20: map<bool, double> halves
  21: map<string, bool> marks
  300: i64 far
}

service Checked {
  void none()
  i64 add(1: i64 left, 2: i64 right)
  void put(1: string key, 2: Node value)
  list<string> many(1: list<string> keys, 2: map<string, Node> nodes, 3: set<i16> marks)
  oneway void note(1: set<i64> numbers, 2: bool flag, 3: list<Either> choices)
  void danger(1: string what)
}
