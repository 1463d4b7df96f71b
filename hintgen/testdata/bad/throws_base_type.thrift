# The stock compiler refuses this too.
# hintgen: 3:33: error: 'i32' is not an exception, and cannot be thrown
service S { void f() throws (1: i32 x) }
