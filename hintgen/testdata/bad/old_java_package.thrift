# The stock compiler refuses this too.
# hintgen: 3:1: error: 'java_package' was removed from Thrift; write 'namespace java NAME'
java_package a.b
