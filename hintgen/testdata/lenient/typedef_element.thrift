# The stock compiler takes this too.
# hintgen: 4:27: warning: 'words' has type i32, but the value is a string; Thrift does not check this through a typedef
typedef i32 T
const list<T> words = [1, "a"]
