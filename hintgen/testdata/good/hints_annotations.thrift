service S {
  void a() ( hat.perf_goal = "latency", hat.client.payload_size = "128" )
  void b() ( other = "kept"; hat.server.polling = "busy" hat.idempotent = "true" ),
  void c() ( hat.client.payload_size = "1KiB" ) [ s_hint: payload_size=64; ]
  void d() ( deprecated ) [ hint: priority=low; ]
  void e() () [ hint: priority=low; ]
  void f() ( hat.priority = "low" ) [ hint: priority=low; ]
} ( hat.perf_goal = "throughput", hat.concurrency = "8" )
service T { hint: priority=high; } (note = 'both')
