# The stock compiler refuses this too.
# hintgen: 3:9: error: unknown type 'Nowhere'
typedef Nowhere N
