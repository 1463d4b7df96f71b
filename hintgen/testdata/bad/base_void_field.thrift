# The stock compiler refuses this too.
# hintgen: 3:15: error: unexpected 'void'; expected a type
struct S { 1: void a }
