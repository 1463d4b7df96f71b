# The stock compiler refuses this too.
# hintgen: 5:13: error: 'E.Z' is not a member of enum 'E'
enum E { A = 1 }
typedef E T
const T z = E.Z
