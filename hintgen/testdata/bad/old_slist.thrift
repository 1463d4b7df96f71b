# The stock compiler refuses this too.
# hintgen: 3:15: error: unknown type 'slist': it was removed from Thrift; use 'string'
struct S { 1: slist a }
