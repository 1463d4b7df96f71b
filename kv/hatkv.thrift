# kv/hatkv.thrift: HatKV's interface, with a hint on every call that differs from the rest.
#
# Hints are in HatRPC's own grammar. `hintgen kv/hatkv.thrift` writes the manifest from them;
# `hintgen --strip` (or `--annotate`) writes the file that the stock Thrift compiler reads.
#
# payload_size is the largest message that is usual, Thrift's own bytes included, for keys of
# 24 bytes, values of 1000 bytes and batches of 10: YCSB's defaults, as in HatRPC (SC'21) 5.4.
# Larger messages work too: a hint says what is worth preparing for, and forbids nothing.

namespace cpp hatkv
namespace py hatkv
namespace java hatkv
namespace go hatkv
namespace js hatkv

/** The key is not in the store. */
exception NotFound {
  1: binary key
}

/** What the store cannot do, and why: an empty key, a key over 511 bytes, no room left. */
exception Refused {
  1: string reason
}

struct Pair {
  1: binary key,
  2: binary value
}

/** One answer of multiget. */
struct Lookup {
  1: bool found,
  2: binary value  // empty where found is false
}

service HatKV {
  hint: perf_goal=latency, concurrency=16;

  /** The value of a key. */
  binary get(1: binary key) throws (1: NotFound missing, 2: Refused refused)
  [ c_hint: payload_size=64; s_hint: payload_size=1152; hint: idempotent=true; ]

  /** Sets the value of a key, new or not. It is in the store when the call returns. */
  void put(1: binary key, 2: binary value) throws (1: Refused refused)
  [ c_hint: payload_size=1152; s_hint: payload_size=64; ]

  /** One answer per key, in the order of the keys, all from the same moment. */
  list<Lookup> multiget(1: list<binary> keys) throws (1: Refused refused)
  [ hint: perf_goal=throughput, idempotent=true;
    c_hint: payload_size=512; s_hint: payload_size=10KiB; ]

  /** Sets all pairs, or none. Where a key comes twice, the later pair holds. */
  void multiput(1: list<Pair> pairs) throws (1: Refused refused)
  [ hint: perf_goal=throughput; c_hint: payload_size=11KiB; s_hint: payload_size=64; ]

  /** Takes a key out; tells whether it was there. (`del` is a reserved word of Thrift.) */
  bool remove(1: binary key) throws (1: Refused refused)
  [ hint: payload_size=64; ]
}
