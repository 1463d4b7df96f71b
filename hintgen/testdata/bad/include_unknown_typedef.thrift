# The stock compiler refuses this too.
# hintgen: 4:15: error: 'include_unknown_typedef_target.N' is a typedef of a type that is not defined; define it in the included file
include "include_unknown_typedef_target.thrift"
struct S { 1: include_unknown_typedef_target.N n }
