# The stock compiler hangs on this.
# hintgen: 3:11: error: typedef 'A' is circular, or uses a circular typedef
typedef B A
typedef A B
struct S { 1: A a }
