# The stock compiler refuses this too.
# hintgen: 3:10: error: the value 3000000000 of 'A' is out of range; an enum's values are from -2147483648 to 2147483647
enum E { A = 3000000000 }
