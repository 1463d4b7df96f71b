# The stock compiler refuses this too.
# hintgen: 3:20: error: unexpected '}'; expected '('
service S { void f }
