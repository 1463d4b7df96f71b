# The stock compiler refuses this too.
# hintgen: 3:1: error: 'java_package' is gone from Thrift; write 'namespace java NAME'
java_package a.b
