# The stock compiler takes this too.
# hintgen: 5:15: warning: 'two' has type i32, but 'one' has type string; Thrift does not check this through a typedef
typedef i32 T
const string one = "1"
const T two = one
