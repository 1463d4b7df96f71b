include "shared/types.thrift"

const i32 OURS = types.LIMIT
const types.Color COLOR = types.Color.GREEN
const i32 AS_NUMBER = types.Color.BLUE
struct S { 1: types.Color color = types.Color.RED }
