# The stock compiler refuses this too.
# hintgen: 4:15: error: 'A' is a service, not a type
service A {}
struct S { 1: A a }
