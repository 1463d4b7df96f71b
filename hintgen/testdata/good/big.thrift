/* Much of everything in one file, as real services have it. */
namespace * hatrpc.testdata.big
namespace cpp hatrpc.big
include "shared/base.thrift"
include "shared/types.thrift"

const i32 PAGE = 0x1000
const list<string> REGIONS = ["eu", "us"; "ap"]
const map<string, types.Color> PALETTE = {"warm": types.Color.RED, "cold": types.Color.BLUE}

typedef binary Blob
typedef map<string, Blob> Blobs (cpp.template = "std::map")

enum Status { OK = 0, PARTIAL, FAILED = 10 } (hat_like = "no")

struct Header {
  1: required i64 id
  2: optional string trace (secret)
  3: types.Money budget = 100
  4: map<string, list<types.Color>> colors = {"a": [types.Color.RED]}
}

union Body {
  1: Blob raw
  2: list<base.Thing> things
}

exception Overloaded {
  1: i32 retry_ms = 250
  2: string text
} (retryable = "true")

/** Stores blobs. */
service Store extends base.Base {
  hint: perf_goal=latency, concurrency=32;
  s_hint: numa=nic;

  /** Reads one. */
  Blob read(1: Header header, 2: string key) throws (1: base.Broken broken, 2: Overloaded busy) (
    idempotent = "yes",
    hat.idempotent = "true"
  )
  [ c_hint: payload_size=256; s_hint: payload_size=64KiB; ]

  /** Writes many. */
  Status write(1: Header header, 2: Blobs blobs, 3: Status expected = Status.OK)
      throws (1: Overloaded busy),
  [ hint: perf_goal=throughput, timeout_ms=5000;
    c_hint: payload_size=1MiB; s_hint: payload_size=64; ]

  oneway void forget(1: string key) [ hint: priority=low, transport=tcp; ];
  list<map<string, set<Status>>> report(1: list<i64> ids)
} (owner = "storage", hat.server.polling = "busy")

service Admin extends Store {
  hint: perf_goal=res_util;
  void compact(1: bool wait = true)
}
