# The stock compiler takes this too.
# hintgen: shared/unknown.thrift:1:15: warning: unknown type 'Nowhere'; this is an error only if code is generated for this file
include "shared/unknown.thrift"
struct S { 1: i32 a }
service Child extends unknown.Base { void own() }
