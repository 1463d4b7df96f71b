# The stock compiler refuses this too.
# hintgen: 3:18: error: this string has no closing quote on its line
const string a = "a
b"
