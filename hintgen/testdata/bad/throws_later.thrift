# The stock compiler refuses this too.
# hintgen: 3:33: error: 'X' is defined later, in line 4; move it up
service S { void f() throws (1: X x) }
exception X {}
