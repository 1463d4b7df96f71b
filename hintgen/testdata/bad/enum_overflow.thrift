# The stock compiler refuses this too.
# hintgen: 3:26: error: the value 2147483648 of 'B' does not fit into 32 bits
enum E { A = 2147483647, B }
