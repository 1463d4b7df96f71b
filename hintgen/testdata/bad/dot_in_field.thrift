# The stock compiler refuses this too.
# hintgen: 3:19: error: the name 'b.c' must not have a dot
struct S { 1: i32 b.c }
