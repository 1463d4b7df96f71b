# SPDX-License-Identifier: Apache-2.0
# bench/atb/atb.thrift: the two functions of ATB, the Apache Thrift Benchmarks of HatRPC (SC'21) 5.2, 5.3.
#
# They do the same; their hints differ, so that each travels as its caller would have it. `hintgen
# bench/atb/atb.thrift` writes the manifest. payload_size is that of Figure 13's messages: 512 B and
# Thrift's own bytes.

namespace cpp hat.atb
namespace py atb

struct Answer {
  1: i64 checksum,  // of both payloads: XXH3 of the answer's, seeded with XXH3 of the request's
  2: binary payload
}

service Atb {
  hint: concurrency=16, payload_size=640;

  Answer latency(1: i32 answer_bytes, 2: binary payload)
  [ hint: perf_goal=latency; ]

  Answer throughput(1: i32 answer_bytes, 2: binary payload)
  [ hint: perf_goal=throughput; ]
}
