# The stock compiler refuses this too.
# hintgen: 4:38: error: field id 1 is already used in line 4
exception X {}
service S { void f() throws (1: X a, 1: X b) }
