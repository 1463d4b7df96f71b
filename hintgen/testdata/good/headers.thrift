/** A file's own documentation. */
namespace * everywhere
namespace cpp a.b_c.d
namespace py hatrpc.testdata (dialect = "three", plain)
namespace java org.example.hatrpc ()
namespace netstd Org.Example
cpp_include "<unordered_map>"
cpp_include 'local.h'
include "shared/base.thrift"
include 'shared/types.thrift'

struct UsesBoth {
  1: base.Thing thing
  2: types.Money money
  3: list<types.Color> colors
}
