# The stock compiler refuses this too.
# hintgen: 3:12: error: no token of Thrift IDL begins with byte 0x0C
struct S {}
