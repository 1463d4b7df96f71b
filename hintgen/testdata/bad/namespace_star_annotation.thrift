# The stock compiler refuses this too.
# hintgen: 3:15: error: unexpected '('; expected the end of the file or a definition
namespace * x (a="b")
