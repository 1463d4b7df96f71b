exception X {}
service S {
  void plain()
  void one() [ hint: perf_goal=latency; ]
  void all() [ hint: perf_goal=res_util; s_hint: payload_size=64; c_hint: payload_size=128KiB, polling=busy; ]
  void empty_block() [ ]
  void over_lines(1: i32 a,
                  2: i32 b) throws (1: X x)
  [
    // why: it is large
    c_hint: payload_size = 10MiB ,   /* and */ timeout_ms = 1000;
    # the other side
    s_hint: payload_size = 64;
  ]
  oneway void told() [ hint: perf_goal=throughput; ]
}
