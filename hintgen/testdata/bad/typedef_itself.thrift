# The stock compiler hangs on this.
# hintgen: 3:11: error: typedef 'A' goes in a circle
typedef A A
