# The stock compiler refuses this too.
# hintgen: 3:1: error: 'senum' was removed from Thrift; use 'enum' or 'string'
senum X { "a" }
