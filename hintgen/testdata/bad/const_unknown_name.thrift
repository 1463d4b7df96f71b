# The stock compiler refuses this too.
# hintgen: 3:23: error: there is no constant or enum member named 'zz'
struct S { 1: i32 a = zz }
