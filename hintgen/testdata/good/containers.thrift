struct Containers {
  1: list<i32> a
  2: set<string> b
  3: map<string, i64> c
  4: list<list<set<map<i32, list<binary>>>>> d
  5: map cpp_type "std::unordered_map<int, int>" <i32, i32> e
  6: set cpp_type "std::unordered_set<int>" <i32> f
  7: list<i32> cpp_type "std::deque<int>" g
  8: list<Item> (cpp.template = "std::vector") h
  9: map<i32,i32> (a = "b") i
 10: list < i32 ( js.type = "Long" ) > j
}
struct Item { 1: list<Item> children }
