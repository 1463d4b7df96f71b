# The stock compiler refuses this too.
# hintgen: 3:18: error: 's' has type string, but the value is an integer
const string s = 1
