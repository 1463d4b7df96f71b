# The stock compiler refuses this too.
# hintgen: 4:13: error: 'E.B' is not a member of enum 'E'
enum E { A = 1 }
const E e = E.B
