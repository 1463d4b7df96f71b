namespace cpp crlf

service S {
  hint: perf_goal=latency;

  // why
  void f()
  [ hint:
    payload_size=64; ]
	void g()	[ hint: priority=low; ]
}
