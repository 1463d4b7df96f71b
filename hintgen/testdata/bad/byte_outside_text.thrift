# The stock compiler refuses this too.
# hintgen: 3:9: error: only ASCII may stand outside of quoted texts and comments
struct Sé {}
