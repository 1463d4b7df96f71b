const i32 ZERO = 0
const i32 PLUS = +1
const i32 MINUS = -2147483648
const i64 LARGEST = 9223372036854775807
const i64 SMALLEST = -9223372036854775808
const i32 HEX = 0x7fFF
const i32 MINUS_HEX = -0x10
const i32 LEADING_ZEROS = 007
const bool YES = true
const bool NO = false
const bool ALSO_YES = 1
const double HALF = .5
const double MINUS_HALF = -.5
const double WHOLE = 3
const double EXPONENT = 1e5
const double BOTH = +1.25E-3
const double BARE_EXPONENT = 2E+4
struct Ids { 0x10: i32 hexadecimal_id, +17: i32 plus_id, true: i32 one }
