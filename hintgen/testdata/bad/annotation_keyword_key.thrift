# The stock compiler refuses this too.
# hintgen: 3:14: error: unexpected 'struct'; expected a name or ')'
struct T {} (struct = "a")
