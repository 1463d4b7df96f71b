# The stock compiler refuses this too.
# hintgen: 3:10: error: the value 3000000000 of 'A' does not fit into 32 bits
enum E { A = 3000000000 }
