include "types.thrift"

struct Thing {
  1: string name
  2: types.Money price
}

exception Broken {
  1: string why
}

service Base {
  hint: perf_goal=res_util, concurrency=over;
  void ping()
  Thing find(1: string name) throws (1: Broken broken)
  [ s_hint: payload_size=4KiB; ]
}

service Middle extends Base {
  hint: concurrency=full;
  oneway void note(1: string text)
}
