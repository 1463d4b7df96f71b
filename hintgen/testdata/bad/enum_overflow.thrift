# The stock compiler refuses this too.
# hintgen: 3:26: error: the value 2147483648 of 'B' is out of range; an enum's values are from -2147483648 to 2147483647
enum E { A = 2147483647, B }
