# The stock compiler refuses this too.
# hintgen: 4:33: error: 'X' is defined later, in line 5; move it up
typedef X Y
service S { void f() throws (1: Y x) }
exception X {}
