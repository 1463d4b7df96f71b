# The stock compiler refuses this too.
# hintgen: 4:13: error: no member of enum 'E' has the value 2
enum E { A = 1 }
const E e = 2
