# The stock compiler hangs on this.
# hintgen: 3:11: error: typedef 'A' is circular, or uses a circular typedef
typedef A A
