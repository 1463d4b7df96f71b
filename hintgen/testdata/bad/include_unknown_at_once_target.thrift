# The stock compiler refuses this too.
# hintgen: 3:7: error: unknown type 'Nowhere'
const Nowhere N = 5
