// SPDX-License-Identifier: Apache-2.0
// hatctl/help.h: the texts that `hatctl --help` and `hatctl COMMAND --help` print.
#pragma once

#include <array>
#include <string_view>

#include "hatctl/options.h"

namespace hat::hatctl {

struct CommandHelp {
  Command command;
  std::string_view name;
  std::string_view text;
};

inline constexpr std::string_view kHelp =
    R"(usage: hatctl [--socket PATH] [--json] COMMAND [OPTION...]

Shows the state of the hatrpcd on this host, and controls it.

  status             readiness, links, endpoints and served services; exit status 1 if the
                     node is not ready
  routes [WANTED]    each function's plan and the reason; WANTED: a service or a function
  top                calls per second, latency, errors and bytes by function, every second
  slow [WANTED]      the slowest calls of the last minutes, and the parts of their time
  explain FUNCTION   why calls of a function use this plan, this lane and this peer now
  peers              each peer: its link, lanes and calls, and whether calls avoid it
  connections        the connections of local clients, the most used first
  reload             read the manifests again, all or nothing, and print what changed
  advise [WANTED]    changes of hints that the observed calls suggest; --apply makes them
  drain              accept no new calls, finish the calls in flight, then exit
  calibrate PEER     measure the costs of the RDMA fabric to a peer, for the planner
  certs              the certificates that links use; exit status 1 if this node's is invalid
  certs make DIR NODE...   make certificates for tests, and a CA for them
  doctor [PEER...]   check this host, its files and its peers, and print repair commands
  what-if PROFILE    show which plans would change with costs of other hardware
  ping               check that the daemon answers and that its workers respond
  metrics            the metrics that Prometheus reads
  run -- PROGRAM [ARGUMENT...]   start an unmodified program on the rings of this node

  --socket PATH      hatrpcd's admin.socket (default: $HATRPCD_SOCKET, else
                     /run/hatrpcd/admin.sock)
  --json             print the answer as JSON, for scripts; all commands but metrics and run
  -h, --help         this text; after a command: that command's options and examples
      --version      the version

Only root and hatrpcd's own user may reload, apply advice, drain and calibrate. Exit
status: 0 success, 1 refused or not healthy, 2 wrong usage, 3 hatrpcd cannot be reached.
`run` has its own.

Examples:
  hatctl status
  hatctl routes HatKV.get
  hatctl reload --dry-run && hatctl reload
)";

inline constexpr std::array kCommandHelps = {
    CommandHelp{Command::kStatus, "status",
                R"(usage: hatctl status [--json]

Shows whether this node is ready, its links and RDMA lanes (with the last error of
each that is down), its endpoints and served services, its uptime, the generation of
its routes, the last reload, and how many calls hatrpcd answered itself, by reason.
The exit status is 1 while the node is not ready, as for /readyz.

Examples:
  hatctl status
  hatctl status --json | jq '.links[] | select(.state != "up" and .state != "idle")'
  until hatctl status >/dev/null; do sleep 0.1; done    # wait until the node is ready
)"},
    CommandHelp{Command::kRoutes, "routes",
                R"(usage: hatctl routes [WANTED] [--json]

Shows the fabric that RDMA protocols use on this node, or why there is none. Then
it shows for each function: the plan on both sides, the reason, which protocols
carried the requests and the replies of local clients' calls (RDMA protocols, or
TCP and why), and the source location of the function. "_other" is the plan of
functions that no manifest lists.

WANTED is a service, SERVICE.FUNCTION, or only the name of a function. The exit status
is 1 if there is no such function, or if several services have one with this name.

Examples:
  hatctl routes
  hatctl routes HatKV.get
  hatctl routes --json | jq -r '.services[].functions[] | .method + ": " + .client.plan'
)"},
    CommandHelp{Command::kTop, "top",
                R"(usage: hatctl top [--interval SECONDS] [--count N | --once] [--json]

Shows by function and side, for the time since the last table: calls per second,
the median (p50) and the 99th percentile (p99) of the latency, errors per second,
bytes in and out per second, and the calls in flight now. The most called
functions come first; the last line counts functions that were never called.
Errors are application exceptions, answers of hatrpcd itself, and calls whose
outcome is unknown.

      --interval SECONDS   time between two tables, 0.1 to 3600 (default 1)
      --count N            exit after N tables
      --once               the same as --count 1

p50 and p99 are estimates from a histogram whose bucket bounds are powers of two.
They are within a factor of two of the true value, except in the first bucket (up
to 1 µs) and in the last bucket, which has no upper bound and is shown as ">".

Examples:
  hatctl top
  hatctl top --once --interval 10
  hatctl top --count 60 --json > minute.jsonl           # one object per line
)"},
    CommandHelp{Command::kSlow, "slow",
                R"(usage: hatctl slow [WANTED] [--json]

Shows first the calls of this node's clients without a reply yet, from an age of
0.1 s on, by function and peer: how many connections have such a call (the oldest one
of each counts), the age of the oldest, and the cause of the wait. A server that hangs
is there. "if it is not oneway": no manifest lists the function, so no reply may come.

Then shows the slowest calls that ended in the last one to two minutes, first by
function and peer with the place that took most of the time, and then up to 20 of them
with the time at each place:

  TOOK     from the first byte of the request to the last byte of the reply, or until
           hatrpcd answered itself, or the client closed its connection
  WAITED   in this daemon, until the request was sent: for a link, an RDMA lane, space,
           or the end of an earlier attempt
  WIRE     between the hosts, and in the event loops of the two daemons
  PEER     in the peer's daemon, until it passed a part of the request to a connection
           to the server: for a shared connection, or for the rest of a request that
           must be checked
  SERVER   from then to the first byte of the reply: in the server, which may also wait
           for the connection to be made or for the rest of the request
  REPLY    until the last byte of the reply

WIRE, PEER and SERVER are "-" if no reply came, or if the peer's daemon is too old to
report them. PEER and SERVER are rounded to eighths of their sum. RESULT is the outcome
of the call, or the reason if hatrpcd answered itself. Each worker keeps the 64 slowest
calls of the present minute, and of the one before, of which at most 16 of one function.

WANTED is a service, SERVICE.FUNCTION, or only the name of a function. The exit status
is 1 if there is no such function, or if several services have one with this name.

Examples:
  hatctl slow
  hatctl slow HatKV.get
  hatctl slow --json | jq -r '.waiting[] | [.peer, .calls, .oldest_us] | @tsv'
  hatctl slow --json | jq -r '.slow[] | [.peer, .took_us, .server_us] | @tsv'
)"},
    CommandHelp{Command::kExplain, "explain",
                R"(usage: hatctl explain [SERVICE.]FUNCTION [--json]

Shows on one page how a call of the function would be carried now, and why: the plan
with its reason, and what carried the calls so far, as `hatctl routes` does; the hints
that are set, of the function and of its service; the deadline, priority and rule for
calls that are sent again; the calls of the last 10 to 20 minutes and the share of the
slowest ones; and for each endpoint and peer:

  A CALL NOW USES   the protocols of the RDMA lane that is up, or tcp and why; if
                    requests above the plan's limit for small ones differ, also theirs
  IN FLIGHT         calls at this peer that are not answered, of all functions
  NEW CONNECTIONS   whether a connection that needs a peer can get this one, or why not:
                    its link is not up, calls failed there, peers in this zone come first,
                    or it is slow, so that it gets connections only if the others have no
                    room, or as a trial

These are the peers of the endpoints whose key service is the service. A multiplexed
call uses the peers of the endpoint on which it comes.

The exit status is 1 if there is no such function, or if several services have one with
this name.

Examples:
  hatctl explain HatKV.get
  hatctl explain get --json | jq '.ways[] | {peer, candidate, overflow, small}'
)"},
    CommandHelp{Command::kPeers, "peers",
                R"(usage: hatctl peers [--json]

Shows each peer, and each address of a DNS name, as this node sees it:

  LINK         since when the links of all workers are up or not up. "up 1/2": the link
               of one of two workers that need one; "idle": no worker needs one
  VERSION      the version of the link's format that both daemons know
  LANES        RDMA lanes, with the reason of those that carry no calls
  CONNECTIONS  connections of clients that use the peer
  IN FLIGHT    calls that are not answered, and the age of the oldest from 0.1 s on
  CALLS        that were sent to the peer since this hatrpcd process began, also if it
               took over from another one; a call that was sent again counts again
  ZONE         "near": in the zone of this node

Further tables have the last error of each link that is not up, the peers that calls
avoid because calls failed there, those that calls avoid because they take much longer
there, and the endpoints that use each peer.

Examples:
  hatctl peers
  hatctl peers --json | jq '.peers[] | select(.avoided != []) | .peer'
)"},
    CommandHelp{Command::kConnections, "connections",
                R"(usage: hatctl connections [--by ORDER] [--top N] [--json]

Shows the connections of this node's clients: the process (for unix sockets and rings)
or the address of the client, what the bytes are, the peer and the lane (or tcp) of
their calls, the age, the calls and those in flight, the bytes in and out, and the
bytes that hatrpcd holds of requests and replies. AGE, CALLS, IN and OUT count since
this hatrpcd process has the connection, also if it took the connection over. "own
server connection": the peer keeps a connection to the server for this client alone.

      --by ORDER   the largest first: calls (default), unanswered, buffered, bytes, age
      --top N      how many, 1 to 1000 (default 20)

A worker with 10,000 connections needs a few milliseconds for the report; worker_us in
the JSON has the time.

Examples:
  hatctl connections
  hatctl connections --by buffered --top 5
  hatctl connections --top 1000 --json | jq '[.connections[].pid] | unique'
)"},
    CommandHelp{Command::kReload, "reload",
                R"(usage: hatctl reload [--dry-run] [--json]

Makes hatrpcd read its manifests again. The reload is all or nothing: if there is
any error, the running configuration stays in use, all errors are printed with
file, line and column, and the exit status is 1. Calls in flight are not affected.

      --dry-run   check everything and print what would change; change nothing

Examples:
  hatctl reload --dry-run
  hatctl reload
)"},
    CommandHelp{Command::kAdvise, "advise",
                R"(usage: hatctl advise [WANTED] [--apply] [--json]

Shows the changes of hints that hatrpcd proposes, because the calls of up to 20
minutes on this node contradict the hints: for each function the change as it will
appear in the manifest, the reason, and the gain.

      --apply   edit the manifests of this node, and reload them

--apply changes only the hints; comments and everything else in the files stay. If
hatrpcd refuses the new manifests, hatctl restores the old ones. Then copy the changed
files to the other nodes, because all nodes must have the same manifests; if hintgen
writes a manifest, also change the IDL.

WANTED is a service, SERVICE.FUNCTION, or only the name of a function. The exit status
is 1 if there is no such function, if several services have one with this name, or if
the advice cannot be applied.

Examples:
  hatctl advise
  hatctl advise HatKV.get --apply
  hatctl advise --json | jq -r '.proposals[] | .service + "." + .function + ": " + .gain'
)"},
    CommandHelp{Command::kDrain, "drain",
                R"(usage: hatctl drain [--json]

Makes hatrpcd stop accepting calls, inform its peers, finish the calls in flight,
and exit, as SIGTERM does. The command returns at once; limits.drain_timeout bounds
the time that the daemon takes.

Examples:
  hatctl drain
  hatctl drain && while hatctl ping >/dev/null 2>&1; do sleep 0.1; done    # until it has exited
)"},
    CommandHelp{Command::kCalibrate, "calibrate",
                R"(usage: hatctl calibrate PEER [--write FILE] [--json]

Makes hatrpcd measure, together with the hatrpcd of that peer, the costs of the RDMA
fabric between them: put, get, compare-and-swap, fetch-and-add, message, registration,
copy, wake-up, and calls of several callers whose replies are pushed (direct_write_imm)
or fetched (rfp). This takes a few seconds and one core on each host. Calls continue
meanwhile; the results are best on hosts that do little else. Each host takes part in
at most one calibration at a time.

If hatrpcd.yaml has `profile: FILE`, the planner uses the costs in FILE instead of its
constants, from the next reload on. `peers.PEER.profile` has the costs for calls to
this peer only. `hatctl routes` shows the resulting plans; hintgen(1) can show them
before the reload.

      --write FILE   write the profile to FILE, which is replaced as a whole or not at all

The exit status is 1, with the reason, if a calibration with the peer is impossible:
there is no link to it, it has no RDMA, its hatrpcd is too old, or another calibration
is in progress.

Examples:
  hatctl calibrate host-b
  hatctl calibrate host-b --write /etc/hatrpc/measured.yaml && hatctl reload
)"},
    CommandHelp{Command::kDoctor, "doctor",
                R"(usage: hatctl doctor [--config FILE] [PEER...] [--json]

Checks this host as hatrpcd sees it. Each finding is OK, WARN or FAIL, with the problem
and the command that repairs it. doctor changes nothing. The checks are

  configuration  the node's file and its manifests, as hatrpcd reads them
  daemon         whether hatrpcd answers, is ready, and accepted its last reload
  security       the certificate, key and CA of links: who may read them, their validity
  fabric         which device, port and GID hatrpcd uses for RDMA, or why it uses none
  profile        whether the measured costs are recent, and of this node and device
  modules        the kernel modules that make RDMA devices of network cards
  devices        /dev/infiniband: whether hatrpcd's user may open each device
  ports, gids    their states, link layers, addresses and versions of RoCE
  mtu            the payload of an RDMA packet, and the MTU of the interface
  congestion     lost packets, ECN and the traffic class, if the driver reports them
  memlock        how much memory hatctl and hatrpcd may lock, and how much RDMA needs
  memory         free memory, huge pages, /dev/shm
  cgroup         memory.max, cpu.max and rdma.max of hatrpcd's cgroup and its ancestors
  capabilities   the capabilities that hatrpcd has and that the configuration needs
  descriptors    the limit on open connections
  numa, cores    whether hatrpcd runs near its device; how long tasks wait for a core
  clock          whether the time can be read without a system call
  peers          names, link ports, path MTU; links and lanes of the running hatrpcd

doctor works without a running hatrpcd, and on hosts without RDMA. It sees most as root.
If hatrpcd has no link to a peer, doctor connects to that peer's link port, which leaves
a line in the peer's log.

      --config FILE   the node's configuration (default: the file that the running
                      hatrpcd was started with, else /etc/hatrpc/hatrpcd.yaml)
      PEER            check only these peers

The exit status is 0 if nothing fails, 1 if something fails, and 2 if a PEER is not in
the configuration. Warnings do not count.

Examples:
  hatctl doctor
  hatctl doctor --config hatrpcd.yaml host-b
  hatctl doctor --json | jq -r '.findings[] | select(.verdict == "fail").mend'
)"},
    CommandHelp{
        Command::kWhatIf, "what-if",
        R"(usage: hatctl what-if PROFILE [--config FILE] [--cores N [--nic-cores N]] [--json]

Shows which plans of this node's functions would change if its RDMA fabric had the
costs in PROFILE, a file that `hatctl calibrate` wrote, here or on another host. Each
changed plan has its reason. Nothing is changed, and no hatrpcd need run.

"now" means this host with the profiles that hatrpcd.yaml names, and "then" the costs in
PROFILE for calls to all peers. what-if opens no RDMA device: it assumes that this
host has the fabric of its own profiles.

      --config FILE   the node's configuration (default: the file that the running
                      hatrpcd was started with, else /etc/hatrpc/hatrpcd.yaml)
      --cores N       then: a host with N cores instead of this host's number
      --nic-cores N   then: N of the cores are near the RDMA NIC (default: all that --cores
                      gives, else as on this host)

The exit status is 1 if PROFILE, the configuration or a manifest has errors, and 2 if
--nic-cores is more than the host's cores.

Examples:
  hatctl what-if new-nic.yaml
  hatctl what-if new-nic.yaml --cores 28 --nic-cores 14 --config hatrpcd.yaml
  hatctl what-if new-nic.yaml --json | jq -r '.changes[].text'
)"},
    CommandHelp{Command::kCerts, "certs",
                R"(usage: hatctl certs [--json]
       hatctl certs make DIR NODE... [--days N] [--trust-domain NAME]

Shows the certificates that this node's links use: its own, those of the CAs that it
trusts for peers, and lists of revoked certificates, with names, validity and files.
The exit status is 1 if the node's own certificate is not valid at present.

make does not need a daemon. It writes certificates for tests to DIR: a CA (ca.pem and
ca.key, which are kept if they exist), and for each node NODE.pem and NODE.key, whose
names are NODE (a DNS name) and spiffe://hatrpc.test/NODE. They are NOT for production:
anyone who can read DIR/ca.key can pose as any node.

      --days N             validity in days, 0 (expired already) to 3650 (default 30)
      --trust-domain NAME  trust domain of the SPIFFE IDs (default hatrpc.test)

Examples:
  hatctl certs
  hatctl certs --json | jq -r '.[] | .use + " " + (.not_after | todate)'
  hatctl certs make tls host-a host-b    # then: link: {tls: {certificate: tls/host-a.pem,
                                         #        key: tls/host-a.key, ca: tls/ca.pem}}
)"},
    CommandHelp{Command::kPing, "ping",
                R"(usage: hatctl ping [--json]

Shows which node answers, its version, and how long the answer took. The exit status
is 1 if the daemon answers but one of its workers does not respond, as for /healthz.

Example:
  hatctl ping
)"},
    CommandHelp{Command::kMetrics, "metrics",
                R"(usage: hatctl metrics

Prints all metrics in Prometheus' text format 0.0.4, as GET /metrics does.

Example:
  hatctl metrics | grep hatrpc_local_replies_total
)"},
    CommandHelp{Command::kRun, "run",
                R"(usage: hatctl run [--library FILE] [--http ADDRESS] -- PROGRAM [ARGUMENT...]

Starts an unmodified program on rings (shared memory between the program and
hatrpcd) in place of TCP, with the preloaded library. The rings are those of the
keys `ring` in hatrpcd.yaml:

* If the program connects to the TCP address of an endpoint that has a ring, the
  connection uses the ring.
* If the program listens at the TCP address of a served service that has a ring,
  it also accepts connections over the ring.

A ring that the program cannot use is printed as a warning, and TCP is used.

      --library FILE   the preloaded library (default: libhatrpc-preload.so of the
                       build tree or installation to which hatctl belongs)
      --http ADDRESS   ask hatrpcd at tcp:HOST:PORT, its admin.listen, for users who
                       may not use its admin socket

The exit status is the program's, or: 2 wrong usage, 125 the start cannot be
prepared (hatrpcd cannot be reached, no library, no ring), 126 the program cannot
be executed, 127 there is no such program.

Examples:
  hatctl run -- ./client --port 9090
  hatctl run --http tcp:127.0.0.1:9464 -- java -jar server.jar
)"},
};

}  // namespace hat::hatctl
