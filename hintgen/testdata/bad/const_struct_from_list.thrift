# The stock compiler refuses this too.
# hintgen: 4:21: error: 's' has type S, written {"field": value}, but the value is a list
struct S { 1: i32 a }
struct T { 1: S s = [] }
