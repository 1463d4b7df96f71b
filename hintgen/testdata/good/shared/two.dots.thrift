struct Point { 1: i32 x }
