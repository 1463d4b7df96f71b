# The stock compiler refuses this too.
# hintgen: 4:33: error: 'X' is not an exception, and cannot be thrown
struct X {}
service S { void f() throws (1: X x) }
