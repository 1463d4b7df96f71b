# The stock compiler crashes on this.
# hintgen: circular_c.thrift:3:9: error: circular include: circular_a.thrift -> circular_b.thrift -> circular_c.thrift -> circular_a.thrift
include "circular_b.thrift"
struct A { 1: circular_b.B b }
