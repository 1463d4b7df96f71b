/** The struct. */
struct S {
  /** The field. */
  1: i32 a
}
/** The enum. */
enum E {
  /** The member. */
  A
}
/** The service. */
service V {
  hint: perf_goal=latency;
  /** The function, with hints behind. */
  void f(1: i32 a)
  [ hint: payload_size=64; ]
  /** The next one. */
  void g()
}
