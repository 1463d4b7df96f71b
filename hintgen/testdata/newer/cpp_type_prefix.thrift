struct S {
  1: list cpp_type "std::deque<int>" <i32> a
  2: list cpp_type "x" <i32> cpp_type "y" b
}
service V { list cpp_type "std::deque<int>" <i32> f() }
