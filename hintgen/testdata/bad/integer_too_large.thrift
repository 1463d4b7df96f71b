# The stock compiler refuses this too.
# hintgen: 3:15: error: '9223372036854775808' does not fit into 64 bits
const i64 a = 9223372036854775808
