service Words {
  hint: perf_goal=throughput, concurrency=16, polling=event, transport=rdma, numa=nic;
  c_hint: payload_size=1KiB, timeout_ms=250;
  s_hint: protocol=direct_write_imm, priority=low;
  hint:idempotent=false;
  void f()
}
service Old { hint: perf_pref=busy, proto=rfp; void f() }
service Quoted { hint: perf_goal="latency", payload_size='64KiB', concurrency="full"; void f() }
service OneLine { hint: perf_goal=latency; void f() void g() [ hint: priority=high; ] }
service Alone { hint: concurrency=under; }
