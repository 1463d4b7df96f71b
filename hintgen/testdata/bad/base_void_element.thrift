# The stock compiler refuses this too.
# hintgen: 3:20: error: unexpected 'void'; expected a type
struct S { 1: list<void> a }
