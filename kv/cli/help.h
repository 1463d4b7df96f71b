// SPDX-License-Identifier: Apache-2.0
// kv/cli/help.h: the texts of `hatkv --help` and `hatkv COMMAND --help`.
#pragma once

#include <array>
#include <string_view>

namespace hat {

struct HelpPage {
  std::string_view command;  // empty: the program's own help
  std::string_view text;
};

constexpr std::array kHelpPages = {
    HelpPage{
        "", R"(hatkv: a key-value store of bytes: LMDB behind the Thrift service of kv/hatkv.thrift.

usage: hatkv serve --listen ADDRESS --data FOLDER [options]
       hatkv COMMAND [--connect ADDRESS] [options] [words]

  serve              run a server until SIGTERM or SIGINT
  get KEY...         print values
  put KEY VALUE      set a value; VALUE - reads it from standard input
  del KEY...         take keys out
  scan [PREFIX]      print pairs in the order of their keys
  load               put many records, made up or from a file
  stats              print how the server and its store are
  backup NAME        have the server copy its store
  COMMAND --help     options and examples of one command

Every command but serve takes
  --connect ADDRESS  tcp:HOST:PORT, unix:/PATH or shm:/PATH, of hatkv or of a hatrpcd before
                     it; default $HATKV_ADDRESS, else tcp:127.0.0.1:9091
  --framed           framed transport (default)
  --buffered         buffered transport, which is unframed
  --protocol NAME    binary (default), compact
  --timeout SECONDS  for an answer, up to a day; default 30
  --                 what follows are words, also where they begin with a hyphen
  --help, --version

exit status: 0 done; 1 no such key, or refused; 2 wrong usage; 3 the server cannot be reached

examples:
  hatkv serve --listen tcp:127.0.0.1:9091 --data /var/lib/hatkv
  hatkv put color green && hatkv get color
  hatkv --help; hatkv serve --help; man hatkv
)"},
    HelpPage{"serve",
             R"(hatkv serve: runs a server until SIGTERM or SIGINT. The word serve may be left out.

usage: hatkv serve --listen ADDRESS --data FOLDER [options]

  --listen ADDRESS     tcp:HOST:PORT (port 0 takes a free one), unix:/PATH or shm:/PATH (rings of
                       shared memory, for hatrpcd's `upstream` or TShmSocket); may come many times
  --data FOLDER        where the store lies; made if it is not there
  --durability LEVEL   how sure an acknowledged write is. No level loses any to kill -9 of hatkv;
                       a crash of the machine (power, kernel) may take:
                         sync        nothing (default)
                         nometasync  the last commit; the store stays whole
                         everysec    the last second or so, and possibly the store
                         nosync      what the kernel had not written, and possibly the store
  --manifest FILE      hints that shape the storage; default share/hatrpc/hatkv.yaml beside the
                       program's folder, if it is there
  --readers N          reads at once, up to 10000, others wait; default by the hint `concurrency`,
                       else 126
  --commit-wait-us N   how long a write may wait for others to share a commit with, 0 for not at
                       all; default by the hint `perf_goal`: 0 for latency, 500 for throughput,
                       2000 for res_util
  --map-bytes N        the map's first size, it grows by itself; default 1073741824
  --max-bytes N        what it may grow to, then writes are refused; default 1099511627776
  --backups FOLDER     where `hatkv backup NAME` makes copies; without it none are made
  --metrics ADDRESS    tcp:HOST:PORT: GET /metrics for Prometheus, and GET /healthz
  --server KIND        threaded (default), threadpool, nonblocking; shm: is always threaded
  --framed             framed transport (default)
  --buffered           buffered transport, which is unframed
  --protocol NAME      binary (default), compact
  --threads N          workers of threadpool and nonblocking; default 16
  --connections N      at once and address, of threaded; who comes then waits; default 1024
  --help, --version

Prints one line a listening address, `listening on ADDRESS`, when it takes calls.

examples:
  hatkv serve --listen tcp:127.0.0.1:9091 --data /var/lib/hatkv --metrics tcp:127.0.0.1:9191
  hatkv serve --listen shm:/run/hatkv/kv.ring --listen unix:/run/hatkv/kv.sock --data /tmp/kv
  hatkv serve --listen tcp:127.0.0.1:9091 --data /tmp/kv --durability nosync --readers 64
)"},
    HelpPage{"get",
             R"(hatkv get: prints values, each with a line break; of several keys, as of one moment.

usage: hatkv get [options] KEY...

  --raw              the values alone, without line breaks

examples:
  hatkv get color
  hatkv get --raw photo > photo.jpg
)"},
    HelpPage{"put", R"(hatkv put: sets the value of a key.

usage: hatkv put [options] KEY VALUE

A VALUE of - is read from standard input, to its end.

examples:
  hatkv put color green
  hatkv put photo - < photo.jpg
  hatkv put --connect unix:/run/hatkv.sock -- -key- -value-
)"},
    HelpPage{"del", R"(hatkv del: takes keys out; exit status 1 where one is not there.

usage: hatkv del [options] KEY...

examples:
  hatkv del color
)"},
    HelpPage{"scan",
             R"(hatkv scan: prints pairs as KEY<tab>VALUE in the order of their keys' bytes.

A backslash and control characters are written \\, \t, \n, \r and \xHH, so that
`hatkv load --file` reads the same back.

usage: hatkv scan [options] [PREFIX]

  --start KEY        from this key on
  --before KEY       up to this key, without it
  --limit N          at most N pairs
  --keys             keys alone

examples:
  hatkv scan user: --limit 10
  hatkv scan --start a --before b --keys
  hatkv scan > everything.tsv
)"},
    HelpPage{"load",
             R"(hatkv load: puts many records; progress goes to standard error once a second.

usage: hatkv load --records N [options]
       hatkv load --file FILE [options]

  --records N        make up N records
  --prefix TEXT      of their keys; default user
  --key-bytes N      length of keys, which end in the record's number; default 24
  --value-bytes N    length of values; default 1000
  --seed N           of the values; default 1
  --file FILE        lines of KEY<tab>VALUE as `hatkv scan` writes them; - is standard input
  --batch N          records of one call; default 10
  --clients N        connections at once; default 4. Where a key comes twice in a file, one client
                     keeps the order
  --quiet            no progress

examples:
  hatkv load --records 100000
  hatkv load --file everything.tsv --clients 1
)"},
    HelpPage{"stats",
             R"(hatkv stats: prints how the server and its store are; counts are since it began.

usage: hatkv stats [options]

  --json             as one JSON object

examples:
  hatkv stats
  hatkv stats --json | jq .records
)"},
    HelpPage{"backup",
             R"(hatkv backup: has the server copy its store as folder NAME among its backups.

The copy is of one moment, compact, synced, and a store that `hatkv serve --data` opens. Reads go on
meanwhile, and writes until one needs a larger map: it and all behind it wait for LMDB's copying.

usage: hatkv backup [options] NAME

examples:
  hatkv serve --listen tcp:127.0.0.1:9091 --data /var/lib/hatkv --backups /var/backups/hatkv
  hatkv backup before-upgrade
)"},
};

}  // namespace hat
