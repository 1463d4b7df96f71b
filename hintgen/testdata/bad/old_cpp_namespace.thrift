# The stock compiler refuses this too.
# hintgen: 3:1: error: 'cpp_namespace' was removed from Thrift; write 'namespace cpp NAME'
cpp_namespace a
