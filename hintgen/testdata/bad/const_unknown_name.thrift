# The stock compiler refuses this too.
# hintgen: 3:23: error: no constant and no enum's member is named 'zz'
struct S { 1: i32 a = zz }
