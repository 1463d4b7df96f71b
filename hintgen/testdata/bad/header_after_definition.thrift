# The stock compiler refuses this too.
# hintgen: 3:13: error: 'namespace' must come before the first definition
struct S {} namespace cpp x
