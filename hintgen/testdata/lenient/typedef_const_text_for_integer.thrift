# The stock compiler takes this too.
# hintgen: 4:15: warning: 'one' has type i32, but the value is a string; Thrift does not check this through a typedef
typedef i32 T
const T one = "1"
