# SPDX-License-Identifier: Apache-2.0
# kv/hatkv.thrift: HatKV's interface, with hints on each function that differs from the service's hints.
#
# The hints are in HatRPC's own grammar. `hintgen kv/hatkv.thrift` writes the manifest from them;
# `hintgen --strip` (or `--annotate`) writes a file that the stock Thrift compiler reads.
#
# payload_size is the size of the largest usual message, with the bytes that Thrift adds, for keys of
# 24 bytes, values of 1000 bytes and batches of 10: YCSB's defaults, as in HatRPC (SC'21) 5.4.
# Larger messages work too: a hint tells hatrpcd what to prepare for, and forbids nothing.

namespace cpp hatkv
namespace py hatkv
namespace java hatkv
namespace go hatkv
namespace js hatkv

/** The key is not in the store. */
exception NotFound {
  1: binary key
}

/** The store cannot do what was asked; `reason` says why: a key or value too large, no space left, … */
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
  2: binary value  // empty if found is false
}

/** Keys from `start` on, smaller than `before`, that begin with `prefix`. An empty field is no bound. */
struct Range {
  1: binary start,
  2: binary before,
  3: binary prefix
}

/** Pairs in the order of their keys' bytes, all from the same moment. */
struct Page {
  1: list<Pair> pairs,
  2: binary resume  // the `start` for the next page of the same range; empty: this is the last page
}

/** The state of the server and its store. Counts are since the server started. */
struct Stats {
  1: string version,
  2: string durability,     // sync, nometasync, everysec or nosync
  3: i64 uptime_seconds,
  4: i64 records,
  5: i64 data_bytes,        // size of the pages that hold the records
  6: i64 file_bytes,        // size of the file, with pages that are free for later writes
  7: i64 map_bytes,         // size to which the file may grow before the map is enlarged
  8: i64 map_growths,
  9: i32 readers,           // how many reads may run at the same time
  10: i32 readers_in_use,
  11: i64 reader_waits,     // reads that waited for a reader
  12: i64 commits,
  13: i64 writes,           // calls that were committed; one commit can have several
  14: i64 syncs,            // times that the server waited for the disk: commits and others
  15: map<string, i64> operations  // calls by function
}

/** A backup that was made. */
struct Backup {
  1: string folder,  // on the server's host
  2: i64 bytes
}

service HatKV {
  hint: perf_goal=latency, concurrency=16;

  /** Returns the value of a key. */
  binary get(1: binary key) throws (1: NotFound missing, 2: Refused refused)
  [ c_hint: payload_size=64; s_hint: payload_size=1152; hint: idempotent=true; ]

  /** Sets the value of a new or existing key. The value is in the store when the call returns. */
  void put(1: binary key, 2: binary value) throws (1: Refused refused)
  [ c_hint: payload_size=1152; s_hint: payload_size=64; ]

  /** Returns one answer for each key, in the order of the keys, all from the same moment. */
  list<Lookup> multiget(1: list<binary> keys) throws (1: Refused refused)
  [ hint: perf_goal=throughput, idempotent=true;
    c_hint: payload_size=512; s_hint: payload_size=10KiB; ]

  /** Sets all pairs, or none. If a key appears twice, the later pair wins. */
  void multiput(1: list<Pair> pairs) throws (1: Refused refused)
  [ hint: perf_goal=throughput; c_hint: payload_size=11KiB; s_hint: payload_size=64; ]

  /** Removes a key; returns whether it was there. (`del` is a reserved word of Thrift.) */
  bool remove(1: binary key) throws (1: Refused refused)
  [ hint: payload_size=64; ]

  /**
   * Returns the first pairs of a range: at most `limit` (0: 100; never over 10 000), and about 1 MiB.
   * To continue, set `start` to the page's `resume`. Each page is from a moment of its own.
   */
  Page scan(1: Range range, 2: i32 limit) throws (1: Refused refused)
  [ hint: perf_goal=throughput, idempotent=true;
    c_hint: payload_size=128; s_hint: payload_size=128KiB; ]

  /** Returns the state of the server and its store. */
  Stats stats() throws (1: Refused refused)
  [ hint: transport=tcp, idempotent=true; ]

  /** Makes a consistent copy of the store, as folder `name` in the server's folder of backups (--backups). */
  Backup backup(1: string name) throws (1: Refused refused)
  [ hint: transport=tcp; ]
}
