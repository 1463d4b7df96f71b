# SPDX-License-Identifier: Apache-2.0
// deploy/k8s/example/calculator.thrift: the service of the example; the stock compiler ignores the hints.
service Calculator {
  i64 add(1: i64 left, 2: i64 right) ( hat.payload_size = "64" )
  list<i64> sums(1: list<i64> numbers) ( hat.perf_goal = "throughput", hat.server.payload_size = "64KiB" )
  oneway void note(1: string text) ( hat.transport = "tcp" )
} ( hat.perf_goal = "latency", hat.concurrency = "8" )
