typedef i32 (a = "1") T (b = "2")
struct S { 1: i32 x } (c = "3", d.e.f = 'four'; g h = "5",)
enum E { A } ()
exception X {} (i = "")
service V {
  void f() (j = "6"),
  void g(1: i32 x (k = "7")) throws (1: X x (l = "8")) (m = "9"; n)
  i32 (o = "10") h() (p = "a\"b\\c")
} (q = "11")
