# The stock compiler refuses this too.
# hintgen: 4:13: error: 'A' is not the full name of a member; write 'E.A'
enum E { A = 1 }
const E e = A
