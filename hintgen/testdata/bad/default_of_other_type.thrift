# The stock compiler refuses this too.
# hintgen: 3:23: error: 'a' has type i32, but the value is a string
struct S { 1: i32 a = "x" }
