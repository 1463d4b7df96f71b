# The stock compiler refuses this too.
# hintgen: 3:14: error: unexpected '1'; expected a name or ')'
struct S {} (1 = "a")
