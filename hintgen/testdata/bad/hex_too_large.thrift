# The stock compiler refuses this too.
# hintgen: 3:15: error: '0xffffffffffffffff' does not fit into 64 bits
const i64 a = 0xffffffffffffffff
