include "shared/other.idl"
include "shared/two.dots.thrift"
include "shared/no_extension"

struct S {
  1: other.Point point
  2: two.dots.Point dotted
  3: no_extension.Point bare
}
const i32 OURS = other.LIMIT
service Ours extends other.Base {
  void f(1: other.Id id)
}
