# The stock compiler refuses this too.
# hintgen: 3:9: error: unexpected 'void'; expected a type
typedef void x
