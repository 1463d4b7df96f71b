# The stock compiler refuses this too.
# hintgen: 3:12: error: unexpected ';'; Thrift allows no separator here
struct S {};
