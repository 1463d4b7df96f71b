# The stock compiler refuses this too.
# hintgen: 3:9: error: unknown type 'B'
typedef B A
