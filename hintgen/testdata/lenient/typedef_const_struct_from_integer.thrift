# The stock compiler takes this too.
# hintgen: 5:13: warning: 's' has type S, written {"field": value}, but the value is an integer; Thrift does not check this through a typedef
struct S { 1: i32 a }
typedef S T
const T s = 5
