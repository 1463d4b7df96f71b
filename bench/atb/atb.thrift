# SPDX-License-Identifier: Apache-2.0
# bench/atb/atb.thrift: the two functions of ATB, the Apache Thrift Benchmarks of HatRPC (SC'21) 5.2, 5.3.
#
# Both functions do the same. Their hints differ, so that hatrpcd carries one for latency and the other
# for throughput. `hintgen bench/atb/atb.thrift` writes the manifest. payload_size is the size of the
# messages of Figure 13: 512 B and the bytes that Thrift adds.

namespace cpp hat.atb
namespace py atb

struct Answer {
  1: i64 checksum,  // of both payloads: XXH3 of the answer's payload, seeded with XXH3 of the request's
  2: binary payload
}

service Atb {
  hint: concurrency=16, payload_size=640;

  Answer latency(1: i32 answer_bytes, 2: binary payload)
  [ hint: perf_goal=latency; ]

  Answer throughput(1: i32 answer_bytes, 2: binary payload)
  [ hint: perf_goal=throughput; ]
}
