# The stock compiler refuses this too.
# hintgen: 3:18: error: the name 'a.b' must not have a dot
service S { void a.b() }
