# The stock compiler refuses this too.
# hintgen: 3:15: error: constant 'b' must be defined before its use
const i32 a = b
const i32 b = 1
