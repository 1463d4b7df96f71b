# The stock compiler refuses this too.
# hintgen: 3:8: error: the name 'a.b' must not have a dot
struct a.b {}
