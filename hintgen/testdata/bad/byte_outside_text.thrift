# The stock compiler refuses this too.
# hintgen: 3:9: error: only ASCII is allowed outside of quoted strings and comments
struct Sé {}
