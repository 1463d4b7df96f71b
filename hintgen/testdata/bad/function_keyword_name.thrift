# The stock compiler refuses this too.
# hintgen: 3:18: error: unexpected 'list'; expected a name
service S { void list() }
