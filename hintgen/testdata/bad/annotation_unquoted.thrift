# The stock compiler refuses this too.
# hintgen: 3:18: error: unexpected '128'; expected a quoted string, such as "128"
struct S {} (a = 128)
