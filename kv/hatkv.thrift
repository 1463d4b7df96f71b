# SPDX-License-Identifier: Apache-2.0
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

/** What the store cannot do, and why: a key or a value beyond its bounds, no room left, … */
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

/** Keys from `start` on, smaller than `before`, that begin with `prefix`. Empty: no such bound. */
struct Range {
  1: binary start,
  2: binary before,
  3: binary prefix
}

/** Pairs in the order of their keys' bytes, all from the same moment. */
struct Page {
  1: list<Pair> pairs,
  2: binary resume  // the `start` that goes on with the same range; empty: nothing is left
}

/** How the server and its store are. Counts are since the server began. */
struct Stats {
  1: string version,
  2: string durability,     // sync, nometasync, everysec or nosync
  3: i64 uptime_seconds,
  4: i64 records,
  5: i64 data_bytes,        // pages that hold them
  6: i64 file_bytes,        // with pages that are free for later writes
  7: i64 map_bytes,         // what the file may grow to before the map is made larger
  8: i64 map_growths,
  9: i32 readers,           // at once, at most
  10: i32 readers_in_use,
  11: i64 reader_waits,     // reads that waited for one
  12: i64 commits,
  13: i64 writes,           // calls that were committed, several together where they wait
  14: i64 syncs,            // commits and other moments that waited for the disk
  15: map<string, i64> operations  // calls by function
}

/** A backup that was made. */
struct Backup {
  1: string folder,  // on the server's host
  2: i64 bytes
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

  /**
   * The first pairs of a range: at most `limit` (0: 100; never over 10 000), and about 1 MiB.
   * Go on with `start` set to the page's `resume`. Pages are of different moments.
   */
  Page scan(1: Range range, 2: i32 limit) throws (1: Refused refused)
  [ hint: perf_goal=throughput, idempotent=true;
    c_hint: payload_size=128; s_hint: payload_size=128KiB; ]

  /** How the server and its store are. */
  Stats stats() throws (1: Refused refused)
  [ hint: transport=tcp, idempotent=true; ]

  /** A consistent copy of the store as folder `name` among the server's backups (--backups). */
  Backup backup(1: string name) throws (1: Refused refused)
  [ hint: transport=tcp; ]
}
