struct Words {
  1: i32 namespace
  2: string include
  3: bool list
  4: map<string, i32> map
  5: required i32 required
  6: optional i32 optional = 3,
  7: Words & struct
  8: binary service (a = "b")
  9: i64 const; 10: i32 void 11: i32 throws, 12: i32 extends
  13: i32 oneway 14: i32 async 15: i32 typedef 16: i32 union 17: i32 exception 18: i32 enum
  19: i32 bool 20: i32 byte 21: i32 i8 22: i32 i16 23: i32 i32 24: i32 i64 25: i32 double
  26: i32 string 27: i32 binary 28: i32 set 29: i32 cpp_include 30: i32 uuid
}
service S { void f(1: i32 list, 2: string map) }
