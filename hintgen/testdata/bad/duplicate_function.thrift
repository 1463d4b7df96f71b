# The stock compiler refuses this too.
# hintgen: 3:27: error: function 'f' is already defined in line 3
service S { void f() void f() }
