# The stock compiler refuses this too.
# hintgen: 3:15: error: '0xffffffffffffffff' is out of range; Thrift's integers are from -9223372036854775808 to 9223372036854775807
const i64 a = 0xffffffffffffffff
