# The stock compiler refuses this too.
# hintgen: 4:14: error: 'S' has no field 'b'
struct S { 1: i32 a }
const S s = {"b": 1}
