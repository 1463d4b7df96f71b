struct Requiredness { 1: required i32 a, 2: optional i32 b, 3: i32 c }
struct Separators { 1: i32 a; 2: i32 b, 3: i32 c 4: i32 d }
struct NoIds { i32 a, optional string b; required bool c }
struct OddIds { -1: i32 a, 0: i32 b, 5: i32 c, i32 d, -7: i32 e }
struct LargeId { 32767: i32 a, 32768: i32 b }
struct Annotated { 1: i32 a (x = "1", y; z = 'three'), 2: i32 (width = "4") b = 3 (q) }
