# The stock compiler refuses this too.
# hintgen: 3:7: error: 'S' is defined later, in line 4; move it up
const S s = {"a": 1}
struct S { 1: i32 a }
