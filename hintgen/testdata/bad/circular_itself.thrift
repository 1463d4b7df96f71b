# The stock compiler crashes on this.
# hintgen: circular_itself.thrift:3:9: error: circular include: circular_itself.thrift -> circular_itself.thrift
include "circular_itself.thrift"
