# The stock compiler refuses this too.
# hintgen: 4:6: error: a type or service named 'A' is already defined in line 3
struct A {}
enum A { X }
