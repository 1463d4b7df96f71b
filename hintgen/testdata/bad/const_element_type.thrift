# The stock compiler refuses this too.
# hintgen: 3:25: error: 's' has type i32, but the value is a string
const list<i32> s = [1, "x"]
