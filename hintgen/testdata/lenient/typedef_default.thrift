# The stock compiler takes this too.
# hintgen: 4:21: warning: 'a' has type i32, but the value is a string; Thrift does not check this through a typedef
typedef i32 T
struct S { 1: T a = "x" }
