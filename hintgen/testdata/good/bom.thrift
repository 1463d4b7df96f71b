namespace cpp bom
service S { hint: perf_goal=latency; void f() [ hint: payload_size=64; ] }
