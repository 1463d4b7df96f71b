# The stock compiler refuses this too.
# hintgen: 3:15: error: 's' has type i32, but the value is a number
const i32 s = 1.5
