# The stock compiler refuses this too.
# hintgen: 4:15: error: 'a' has type i32, but 'b' has type string
const string b = "x"
const i32 a = b
