service S {
  void a(), [ hint: perf_goal=latency; ]
  void b() [ hint: perf_goal=latency; ],
  void c(); [ hint: perf_goal=latency; ];
  void d(), [ hint: perf_goal=latency; ];
  void e() (x = "y"), [ hint: perf_goal=latency; ],
  void f() (x = "y",) [ hint: perf_goal=latency; ] ;
  void g()[hint:perf_goal=latency;]void h()[hint:perf_goal=latency;]
}
