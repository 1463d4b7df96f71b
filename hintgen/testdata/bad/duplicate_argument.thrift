# The stock compiler refuses this too.
# hintgen: 3:37: error: argument 'a' is already defined in line 3
service S { void f(1: i32 a, 2: i32 a) }
