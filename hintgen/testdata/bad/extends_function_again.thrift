# The stock compiler refuses this too.
# hintgen: 4:27: error: function 'f' is already inherited from service 'A'
service A { void f() }
service B extends A { i32 f() }
