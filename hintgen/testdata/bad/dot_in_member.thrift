# The stock compiler refuses this too.
# hintgen: 3:10: error: the name 'a.b' must not have a dot
enum E { a.b }
