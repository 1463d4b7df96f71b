# The stock compiler refuses this too.
# hintgen: 4:11: error: constant 'a' is already defined in line 3
const i32 a = 1
const i32 a = 2
