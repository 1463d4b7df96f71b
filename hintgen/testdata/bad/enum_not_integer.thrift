# The stock compiler refuses this too.
# hintgen: 3:14: error: unexpected '"x"'; expected an integer
enum E { A = "x" }
