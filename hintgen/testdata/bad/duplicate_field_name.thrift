# The stock compiler refuses this too.
# hintgen: 3:29: error: field 'a' is already defined in line 3
struct A { 1: i32 a, 2: i32 a }
