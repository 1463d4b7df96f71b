# The stock compiler refuses this too.
# hintgen: 4:19: error: 'A' is a type, not a service
struct A {}
service B extends A {}
