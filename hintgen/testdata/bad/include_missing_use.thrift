# The stock compiler refuses this too.
# hintgen: 4:15: error: unknown type 'nope.T': 'nope.thrift' was not found
include "nope.thrift"
struct S { 1: nope.T a }
