# The stock compiler refuses this too.
# hintgen: 3:15: error: unknown type 'B'
struct A { 1: B b }
