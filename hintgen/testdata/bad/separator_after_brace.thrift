# The stock compiler refuses this too.
# hintgen: 3:12: error: unexpected ';'; Thrift takes no separator here
struct S {};
