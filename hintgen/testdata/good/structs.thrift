struct Empty {}
struct One { 1: i32 a }
union Choice { 1: i32 number; 2: string text = "default" }
union Marked { 1: required i32 a, 2: optional i32 b }
exception Nothing {}
exception Failure { 1: i32 code, 2: string text } (final)
struct Holds { 1: Failure last, 2: Choice choice }
struct Tree { 1: optional Tree & left, 2: optional Tree& right, 3: i32 value }
