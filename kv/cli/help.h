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
        "", R"(hatkv: a key-value store. It keeps bytes in LMDB and serves the Thrift service HatKV.

usage: hatkv serve --listen ADDRESS --data FOLDER [options]
       hatkv COMMAND [--connect ADDRESS] [options] [words]

  serve              run a server until SIGTERM or SIGINT
  get KEY...         print the values of keys
  put KEY VALUE      set the value of a key; if VALUE is -, read it from standard input
  del KEY...         delete keys
  scan [PREFIX]      print keys and values in the order of the keys
  load               put many records, generated or from a file
  stats              print the state of the server and its store
  backup NAME        make the server copy its store
  COMMAND --help     print the options and examples of one command

Every command except serve takes
  --connect ADDRESS  the server, or the endpoint of a hatrpcd that leads to it: tcp:HOST:PORT,
                     unix:/PATH or shm:/PATH; default $HATKV_ADDRESS, else
                     tcp:127.0.0.1:9091
  --framed           use the framed transport (default)
  --buffered         use the buffered (unframed) transport
  --protocol NAME    binary (default) or compact
  --timeout SECONDS  how long to wait for a reply, at most one day; default 30
  --                 end of options: the next words may begin with a hyphen
  --help, --version

exit status: 0 done; 1 no such key, or the server refused; 2 wrong usage; 3 the server cannot be
reached or does not answer

examples:
  hatkv serve --listen tcp:127.0.0.1:9091 --data /var/lib/hatkv
  hatkv put color green && hatkv get color
  hatkv --help; hatkv serve --help; man hatkv
)"},
    HelpPage{"serve",
             R"(hatkv serve: runs a server until SIGTERM or SIGINT. You may omit the word serve.

usage: hatkv serve --listen ADDRESS --data FOLDER [options]

  --listen ADDRESS     address to serve: tcp:HOST:PORT (port 0 means a free port), unix:/PATH, or
                       shm:/PATH (rings of shared memory, for hatrpcd's `upstream` or TShmSocket);
                       may be repeated
  --data FOLDER        the folder of the store; created if it does not exist
  --durability LEVEL   what an acknowledged write survives. Killing hatkv (kill -9) loses no write
                       at any level. A crash of the machine (power, kernel) may lose:
                         sync        nothing (default)
                         nometasync  the last commit; the store stays intact
                         everysec    about the last second, and possibly the store
                         nosync      everything that the kernel had not written, and possibly the
                                     store
  --manifest FILE      manifest with the hints that shape the storage; default
                       share/hatrpc/hatkv.yaml next to the program's folder, if it exists
  --readers N          concurrent reads, at most 10000; further reads wait. The default is the
                       hint `concurrency`, else 126
  --commit-wait-us N   how long a write may wait for other writes to share its commit; 0 means that
                       it does not wait. The default follows the hint `perf_goal`: 0 for latency,
                       500 for throughput, 2000 for res_util
  --map-bytes N        initial size of LMDB's map, which grows as needed; default 1073741824
  --max-bytes N        maximum size of the map; a full store refuses writes; default 1099511627776
  --backups FOLDER     where `hatkv backup NAME` makes copies; without this option it makes none
  --metrics ADDRESS    serve GET /metrics (Prometheus) and GET /healthz at tcp:HOST:PORT
  --server KIND        threaded (default), threadpool or nonblocking; shm: is always threaded
  --framed             use the framed transport (default)
  --buffered           use the buffered (unframed) transport
  --protocol NAME      binary (default) or compact
  --threads N          worker threads of threadpool and nonblocking; default 16
  --connections N      concurrent connections per address of threaded; further connections wait;
                       default 1024
  --help, --version

When the server takes calls, it prints a line `listening on ADDRESS` for each address.

examples:
  hatkv serve --listen tcp:127.0.0.1:9091 --data /var/lib/hatkv --metrics tcp:127.0.0.1:9191
  hatkv serve --listen shm:/run/hatkv/kv.ring --listen unix:/run/hatkv/kv.sock --data /tmp/kv
  hatkv serve --listen tcp:127.0.0.1:9091 --data /tmp/kv --durability nosync --readers 64
)"},
    HelpPage{"get",
             R"(hatkv get: prints values, each with a line break, all from the same moment.

usage: hatkv get [options] KEY...

  --raw              print only the values, without line breaks

examples:
  hatkv get color
  hatkv get --raw photo > photo.jpg
)"},
    HelpPage{"put", R"(hatkv put: sets the value of a key.

usage: hatkv put [options] KEY VALUE

If VALUE is -, hatkv reads the value from standard input, until its end.

examples:
  hatkv put color green
  hatkv put photo - < photo.jpg
  hatkv put --connect unix:/run/hatkv.sock -- -key- -value-
)"},
    HelpPage{"del", R"(hatkv del: deletes keys; the exit status is 1 if one of them does not exist.

usage: hatkv del [options] KEY...

examples:
  hatkv del color
)"},
    HelpPage{"scan",
             R"(hatkv scan: prints lines of KEY<tab>VALUE in the byte order of the keys.

A backslash and control characters are written as \\, \t, \n, \r and \xHH, so that
`hatkv load --file` can read the lines back.

usage: hatkv scan [options] [PREFIX]

  --start KEY        begin at this key
  --before KEY       end before this key
  --limit N          print at most N lines
  --keys             print only the keys

examples:
  hatkv scan user: --limit 10
  hatkv scan --start a --before b --keys
  hatkv scan > everything.tsv
)"},
    HelpPage{"load",
             R"(hatkv load: puts many records; prints its progress to standard error.

usage: hatkv load --records N [options]
       hatkv load --file FILE [options]

  --records N        generate N records
  --prefix TEXT      prefix of the generated keys; default user
  --key-bytes N      length of the generated keys, which end with the record's number; default 24
  --value-bytes N    length of the generated values; default 1000
  --seed N           seed of the random values; default 1
  --file FILE        read lines of KEY<tab>VALUE as `hatkv scan` writes them; - is standard input
  --batch N          records per call; default 10
  --clients N        concurrent connections; default 4. If a key occurs twice in the file, use one
                     client to keep the order
  --quiet            do not print progress

examples:
  hatkv load --records 100000
  hatkv load --file everything.tsv --clients 1
)"},
    HelpPage{"stats",
             R"(hatkv stats: prints the state of the server and its store, since the server started.

usage: hatkv stats [options]

  --json             print one JSON object

examples:
  hatkv stats
  hatkv stats --json | jq .records
)"},
    HelpPage{"backup",
             R"(hatkv backup: makes the server copy its store to NAME in its backup folder.

The copy shows one moment, is compact and synced, and `hatkv serve --data` can open it. Meanwhile
reads continue, and so do writes until one needs a larger map: this write and all later writes wait
until the copy is complete.

usage: hatkv backup [options] NAME

examples:
  hatkv serve --listen tcp:127.0.0.1:9091 --data /var/lib/hatkv --backups /var/backups/hatkv
  hatkv backup before-upgrade
)"},
};

}  // namespace hat
