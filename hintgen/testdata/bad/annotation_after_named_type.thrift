# The stock compiler refuses this too.
# hintgen: 3:37: error: no annotations may follow the name of a type
struct S {} struct T { 1: S s, 2: S (a = "b") t }
