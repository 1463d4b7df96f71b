# The stock compiler refuses this too.
# hintgen: 4:25: error: oneway function 'f' cannot throw: the caller gets no reply
exception X {}
service S { oneway void f() throws (1: X x) }
