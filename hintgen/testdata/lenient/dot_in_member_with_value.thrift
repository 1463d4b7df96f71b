# The stock compiler takes this too.
# hintgen: 3:10: warning: the name 'A.B' has a dot; generated code does not compile
enum E { A.B = 4, C }
const i32 NUMBER = E.A.B
