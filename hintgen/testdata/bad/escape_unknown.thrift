# The stock compiler refuses this too.
# hintgen: 3:19: error: Thrift accepts only the escapes \r \n \t \" \' \\
const string a = "\q"
