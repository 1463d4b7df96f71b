# The stock compiler crashes on this.
# hintgen: circular_a.thrift:3:9: error: circular include: circular_b.thrift -> circular_c.thrift -> circular_a.thrift -> circular_b.thrift
include "circular_c.thrift"
struct B { 1: circular_c.C c }
