# The stock compiler refuses this too.
# hintgen: 3:7: error: unexpected 'void'; expected a type
const void s = 1
