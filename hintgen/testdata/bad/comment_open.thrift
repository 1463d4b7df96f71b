# The stock compiler hangs on this.
# hintgen: 3:13: error: this comment has no end; close it with '*/'
struct S {} /* abc
