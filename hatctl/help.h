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

Asks the hatrpcd on this host how it is, and tells it what to do.

  status             links, endpoints, served services, what is pending; 1 unless ready
  routes [WANTED]    each function's plan and the reason; WANTED: Service or Service.function
  top                calls per second, latency, errors and bytes by function, every second
  reload             read the manifests again, all or nothing, and print what changed
  drain              take no new work, finish what is in flight, then leave
  calibrate PEER     measure what the RDMA fabric costs to a peer, for the planner
  certs              the certificates that links are made with; 1 if this node's is not good
  certs make DIR NODE...   certificates for trying, and a CA of their own
  doctor [PEER...]   what is wrong with this host, its files or its peers, and what mends it
  ping               whether the daemon answers and its workers turn
  metrics            what a Prometheus server would read

  --socket PATH      hatrpcd's admin.socket (default: $HATRPCD_SOCKET, else
                     /run/hatrpcd/admin.sock)
  --json             the answer as JSON, for scripts; all commands but metrics
  -h, --help         this text; after a command: that command's options and examples
      --version      the version

Only root and the user that hatrpcd runs as may reload, drain and calibrate. Exit status: 0
done, 1 refused or not well, 2 wrong usage, 3 hatrpcd cannot be reached.

Examples:
  hatctl status
  hatctl routes HatKV.get
  hatctl reload --dry-run && hatctl reload
)";

inline constexpr std::array kCommandHelps = {
    CommandHelp{Command::kStatus, "status",
                R"(usage: hatctl status [--json]

Shows whether this node is ready, its links and RDMA lanes with the last error of
each that is down, its endpoints and served services, how long it has run, the routes'
generation, the last reload, and how many calls hatrpcd had to answer itself, by
why. Exit status 1 while something is pending, as /readyz says.

Examples:
  hatctl status
  hatctl status --json | jq '.links[] | select(.up | not)'
  until hatctl status >/dev/null; do sleep 0.1; done    # wait until it is ready
)"},
    CommandHelp{Command::kRoutes, "routes",
                R"(usage: hatctl routes [SERVICE[.FUNCTION]] [--json]

Shows the fabric that RDMA protocols run on here, or why there is none; then
each function's plan on both sides, the reason, what carried the calls that
began here (an RDMA protocol, or TCP and why), and the file and line that it
comes from. "_other" is the plan of functions that no manifest names. Exit
status 1 if there is no such function.

Examples:
  hatctl routes
  hatctl routes HatKV.get
  hatctl routes --json | jq -r '.services[].functions[] | .method + ": " + .client.plan'
)"},
    CommandHelp{Command::kTop, "top",
                R"(usage: hatctl top [--interval SECONDS] [--count N | --once] [--json]

Shows, by function and side, what happened since the last look: calls/s, the
time that half of them (p50) and 99 of 100 (p99) took at most, errors/s, bytes
in and out per second, and the calls in flight now. Most called first; functions
that were never called are counted in the last line. Errors are application
exceptions, answers of hatrpcd itself, and calls whose end is unknown.

      --interval SECONDS   between looks, 0.1 to 3600 (default 1)
      --count N            leave after N tables
      --once               the same as --count 1

Times are estimated from counts in powers of two: within a factor of two of the
true value.

Examples:
  hatctl top
  hatctl top --once --interval 10
  hatctl top --count 60 --json > minute.jsonl           # one object a line
)"},
    CommandHelp{Command::kReload, "reload",
                R"(usage: hatctl reload [--dry-run] [--json]

Has hatrpcd read its manifests again. All or nothing: a mistake anywhere leaves
what runs in place, is printed with file, line and column, and gives exit status
1. Calls in flight are not touched.

      --dry-run   check everything and print what would change; change nothing

Examples:
  hatctl reload --dry-run
  hatctl reload
)"},
    CommandHelp{Command::kDrain, "drain",
                R"(usage: hatctl drain [--json]

Has hatrpcd stop accepting, tell its peers, finish the calls in flight, and
leave: what SIGTERM does. Returns at once; limits.drain_timeout bounds how long
the daemon takes.

Examples:
  hatctl drain
  hatctl drain && while hatctl ping >/dev/null 2>&1; do sleep 0.1; done    # until it has left
)"},
    CommandHelp{Command::kCalibrate, "calibrate",
                R"(usage: hatctl calibrate PEER [--write FILE] [--json]

Has hatrpcd measure, with the hatrpcd of that peer, what the RDMA fabric between
them costs: put, get, compare-and-swap, fetch-and-add, message, registration, copy,
wake-up. Takes a few seconds and a core on each host; calls go on meanwhile, and
both measure best on hosts that have little else to do. One at a time on each host.

With `profile: FILE` in hatrpcd.yaml the planner goes by what was written there
instead of its constants, from the next reload on; `hatctl routes` shows what that
changes, and hintgen(1) what it would.

      --write FILE   write the profile there, whole or not at all

Exit status 1 where the peer cannot be measured with, and why: there is no link to
it, it has no RDMA, its hatrpcd is too old, or another calibration goes on.

Examples:
  hatctl calibrate host-b
  hatctl calibrate host-b --write /etc/hatrpc/measured.yaml && hatctl reload
)"},
    CommandHelp{Command::kDoctor, "doctor",
                R"(usage: hatctl doctor [--config FILE] [PEER...] [--json]

Looks at this host as hatrpcd would, and says of each thing OK, WARN or FAIL: what is
wrong, and the command that mends it. It changes nothing. Checked are

  configuration  the node's file and its manifests, as hatrpcd reads them
  daemon         whether hatrpcd answers, is ready, and took its last reload
  security       the certificate, key and CA of links, who may read them, how long they
                 are good
  fabric         which device, port and GID hatrpcd takes for RDMA, or why none
  modules        the kernel modules that make RDMA devices of network cards
  devices        /dev/infiniband: whether hatrpcd's user may open each device
  ports, gids    their states, link layers, addresses and versions of RoCE
  mtu            what a packet carries, against the interface's MTU
  congestion     packets that were lost, ECN, traffic class, where the driver tells
  memlock        how much memory hatctl and hatrpcd may pin, and how much RDMA needs
  memory         what is free, huge pages, /dev/shm
  cgroup         memory.max, cpu.max and rdma.max, of hatrpcd and all above it
  capabilities   what it has of them, and what the configuration wants
  descriptors    how many connections there can be
  numa, cores    whether it runs near its device; how long work waits for a core
  clock          whether the time can be read without asking the kernel
  peers          names, link ports, path MTU; links and lanes of the running hatrpcd

It works without a hatrpcd, and on hosts without RDMA; the more rights it has, the more
it sees: ask as root. A peer to which hatrpcd has no link is connected to, which leaves
a line in that peer's log.

      --config FILE   the node's configuration (default: the file that the running
                      hatrpcd was started with, else /etc/hatrpc/hatrpcd.yaml)
      PEER            look at these peers alone

Exit status 0 where nothing fails, 1 where something does, 2 for a peer that the
configuration does not have. Warnings do not count.

Examples:
  hatctl doctor
  hatctl doctor --config hatrpcd.yaml host-b
  hatctl doctor --json | jq -r '.findings[] | select(.verdict == "fail").mend'
)"},
    CommandHelp{Command::kCerts, "certs",
                R"(usage: hatctl certs [--json]
       hatctl certs make DIR NODE... [--days N] [--trust-domain NAME]

Shows the certificates that this node's links are made with: its own and those of
the CAs that peers' must be of, with names, until when they are good, and where
they were read. Exit status 1 where its own is not good (any more).

make asks no daemon. It writes certificates for trying to DIR: a CA of its own
(ca.pem, ca.key; kept where they are there), and for each node NODE.pem and
NODE.key, which say that it is NODE (a DNS name) and spiffe://hatrpc.test/NODE.
They are NOT for production: whoever can read DIR/ca.key can be any node.

      --days N             how long they are good, 0 (expired already) to 3650
                           (default 30)
      --trust-domain NAME  of the SPIFFE ids (default hatrpc.test)

Examples:
  hatctl certs
  hatctl certs --json | jq -r '.[] | .use + " " + (.not_after | todate)'
  hatctl certs make tls host-a host-b    # then: link: {tls: {certificate: tls/host-a.pem,
                                         #        key: tls/host-a.key, ca: tls/ca.pem}}
)"},
    CommandHelp{Command::kPing, "ping",
                R"(usage: hatctl ping [--json]

Says which node answers, its version, and how long the answer took. Exit status
1 if the daemon answers but one of its workers does not turn, as /healthz says.

Example:
  hatctl ping
)"},
    CommandHelp{Command::kMetrics, "metrics",
                R"(usage: hatctl metrics

Prints all metrics in Prometheus' text format 0.0.4, as GET /metrics does.

Example:
  hatctl metrics | grep hatrpc_local_replies_total
)"},
};

}  // namespace hat::hatctl
