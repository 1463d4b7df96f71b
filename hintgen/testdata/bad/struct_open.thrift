# The stock compiler refuses this too.
# hintgen: 3:20: error: unexpected end of the file; the '{' in line 3 is not closed
struct S { 1: i32 a
