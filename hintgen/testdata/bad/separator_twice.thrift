# The stock compiler refuses this too.
# hintgen: 3:21: error: unexpected ';'; expected '}' or a field
struct S { 1: i32 a,; 2: i32 b }
