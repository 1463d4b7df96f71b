# The stock compiler refuses this too.
# hintgen: 3:32: error: union 'U' has a second default value: 'a' has one already
union U { 1: i32 a = 1, 2: i32 b = 2 }
