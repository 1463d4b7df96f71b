# The stock compiler takes this too.
# hintgen: 5:13: warning: 'A' is not the full name of a member; write 'E.A'; Thrift does not check this through a typedef
enum E { A = 1 }
typedef E T
const T a = A
