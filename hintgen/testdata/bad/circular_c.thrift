# The stock compiler crashes on this.
# hintgen: circular_b.thrift:3:9: error: circular include: circular_c.thrift -> circular_a.thrift -> circular_b.thrift -> circular_c.thrift
include "circular_a.thrift"
struct C { 1: optional circular_a.A a }
