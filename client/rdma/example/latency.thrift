# SPDX-License-Identifier: Apache-2.0
// client/rdma/example/latency.thrift: the service of the example in docs/trdma.md.

namespace cpp example

service Latency {
  hint: perf_goal=latency, concurrency=4;
  c_hint: payload_size=128B;
  s_hint: payload_size=128B;

  void start()
  string echo(1: string payload)
  void finish()
}
