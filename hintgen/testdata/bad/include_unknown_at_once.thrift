# The stock compiler refuses this too.
# hintgen: include_unknown_at_once_target.thrift:3:7: error: unknown type 'Nowhere'
include "include_unknown_at_once_target.thrift"
