# The stock compiler refuses this too.
# hintgen: 4:9: error: a type or service named 'A' is already defined in line 3
service A {}
service A {}
