# The stock compiler refuses this too.
# hintgen: 3:19: error: service 'A' must be defined before this one
service A extends A {}
