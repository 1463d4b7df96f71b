# The stock compiler refuses this too.
# hintgen: 3:19: error: no token of Thrift IDL begins with '.'
const double a = 1.
