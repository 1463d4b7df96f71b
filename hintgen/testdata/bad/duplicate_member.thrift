# The stock compiler refuses this too.
# hintgen: 3:12: error: member 'A' is already defined in line 3
enum E { A A }
