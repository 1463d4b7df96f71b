typedef i32 Number
typedef Number AlsoNumber;
typedef string Text,
typedef list<Number> Numbers (shape = "row")
typedef map<Text, Numbers> Table
typedef Later Early
struct Later { 1: Table table, 2: AlsoNumber number }
struct User { 1: Early early }
