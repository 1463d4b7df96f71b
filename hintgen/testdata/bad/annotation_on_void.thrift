# The stock compiler refuses this too.
# hintgen: 3:18: error: unexpected '('; expected a name
service S { void (a="b") f() }
