# The stock compiler refuses this too.
# hintgen: 3:16: error: unexpected ';'; Thrift allows no separator here
namespace cpp a;
