include "shared/base.thrift"

service First {
  hint: perf_goal=latency, payload_size=128;
  void one()
  [ hint: priority=high; ]
}
service Second extends First {
  hint: payload_size=1KiB;
  oneway void two()
}
service Third extends Second { void three() }
service Outside extends base.Middle {
  void ours()
}
