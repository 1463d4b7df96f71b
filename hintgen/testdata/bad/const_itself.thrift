# The stock compiler hangs on this.
# hintgen: 3:15: error: constant 'a' must be defined before its use
const i32 a = a
