# The stock compiler refuses this too.
# hintgen: 3:22: error: field id 1 is already used in line 3
struct A { 1: i32 a, 1: i32 b }
