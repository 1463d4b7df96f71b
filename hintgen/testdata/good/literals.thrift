const string EMPTY = ""
const string DOUBLE_QUOTES = "it's"
const string SINGLE_QUOTES = 'say "x"'
const string ESCAPES = "\r\n\t\"\'\\"
const string HASH = "# not a comment // nor this /* nor this */"
const string UNICODE = "größer als ≤ 4 KiB"
const binary BYTES = 'abc'
