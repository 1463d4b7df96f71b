#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/rooms.py: checks every #include against who may include whom (docs/architecture.md, "The rooms").

Prints `file:line: what the rule is` for each breach; exit status 1 where there is one.
`--self-test` feeds it breaches and fails where one gets past.
"""

import fnmatch
import pathlib
import re
import subprocess

import checker

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Room (the longest folder that holds the file wins): which of our paths it may include.
MAY_INCLUDE = {
    "base": ["base/"],
    "client": ["client/"],
    "config": ["config/", "base/"],
    "engine": ["engine/", "base/", "config/component_costs.h", "config/hint*.h"],
    "engine/fabric": ["engine/fabric/", "base/"],
    "engine/memory": ["engine/memory/", "engine/fabric/", "base/"],
    "engine/costs": ["engine/costs/", "engine/memory/", "engine/fabric/",
                     "config/component_costs.h", "base/"],
    "engine/rdma": ["engine/rdma/", "engine/memory/", "engine/fabric/", "engine/frame.h",
                    "engine/lane.h", "engine/protocols.h", "config/hint*.h", "base/"],
    "engine/legs": ["engine/legs/", "engine/rdma/", "engine/memory/", "engine/fabric/", "base/"],
    "hintgen": ["hintgen/", "config/", "engine/plan/", "engine/protocols.h", "base/"],
    "daemon": ["daemon/", "client/ring/", "engine/", "config/", "base/"],
    "daemon/thrift": ["daemon/thrift/", "config/signature.h", "base/number.h", "base/utf8.h"],
    "daemon/tls": ["daemon/tls/", "daemon/counters.h", "engine/link/seal.h", "config/", "base/"],
    "daemon/hatctl": ["daemon/hatctl/", "daemon/tls/make_certificates.h", "base/"],
    "daemon/hatctl/doctor": ["daemon/hatctl/", "daemon/configuration.h", "daemon/tls/certificate.h", "config/",
                             "engine/fabric/verbs/gid.h", "engine/fabric/verbs/verbs_fabric.h",
                             "base/"],
    "kv": ["kv/", "client/thrift/", "client/ring/path_claim.h", "config/hint*.h", "config/manifest.h", "config/mistakes.h", "base/"],
    "kv/ycsb": ["kv/ycsb/", "kv/words.h", "bench/account.h", "client/thrift/", "base/"],
    "bench": ["bench/", "client/thrift/", "base/", "config/"],
    "bench/engine": ["bench/engine/", "bench/account.h", "engine/", "config/hint*.h", "base/"],
    "bench/dds": ["bench/dds/", "engine/costs/", "engine/fabric/", "base/"],
    "tests": [""],
}
ROOMS_IN_DOCS = [room for room in MAY_INCLUDE if "/" not in room]

# What tests and fuzz targets may use beyond their room.
TEST_FILES = ["*_test.cc", "*_fuzz.cc", "*/fake_*.h"]
TESTS_MAY_INCLUDE = ["tests/*.h"]

# The core of the daemon runs in the simulation too: it asks a reactor, never the kernel.
CORE = [
    "daemon/accepted_link.*", "daemon/call.h", "daemon/client_answers.cc", "daemon/client_connection.*", "daemon/client_ends.cc",
    "daemon/client_moves.cc", "daemon/counters.h", "daemon/deadlines.*", "daemon/detached_connections.*", "daemon/fallback.h", "daemon/function_metrics.h", "daemon/lane_key.*", "daemon/loans.*",
    "daemon/opaque_failure.*", "daemon/peer_lanes.*", "daemon/peer_link.*", "daemon/peer_share.*", "daemon/pooled_call.*", "daemon/route_changes.*",
    "daemon/routing_table.*", "daemon/server_guard.cc", "daemon/server_moves.cc", "daemon/server_replies.cc", "daemon/server_sharing.cc", "daemon/server_stream.*",
    "daemon/stream_delivery.h", "daemon/successor.h", "daemon/tls/tls_failure.h",
    "daemon/unit_reader.*", "daemon/upstream.*", "daemon/worker.cc", "daemon/worker.h",
]
CORE_MAY_INCLUDE = CORE + ["daemon/thrift/", "engine/", "config/", "base/"]
KERNEL = ["sys/socket.h", "sys/un.h", "sys/epoll.h", "sys/eventfd.h", "sys/ioctl.h", "sys/stat.h",
          "unistd.h", "fcntl.h", "netdb.h", "netinet/*", "arpa/*", "poll.h", "event2/*"]

# (files, headers they never include, why, files that may all the same)
NEVER = [
    (["base/*", "config/*", "engine/*", "hintgen/*"], ["thrift/*", "event2/*"],
     "only daemon/ knows Thrift's library and libevent", []),
    (["*"], ["infiniband/*"], "only the verbs fabric knows devices", ["engine/fabric/verbs/"]),
    (["*"], ["systemd/*"], "only daemon/service_manager.cc knows systemd",
     ["daemon/service_manager.cc"]),
    (["*"], ["openssl/*"], "only daemon/tls knows OpenSSL", ["daemon/tls/"]),
    (CORE, KERNEL, "the daemon's core asks its reactor, never the kernel", []),
    (["engine/*"], KERNEL, "the engine asks its reactor", ["engine/fabric/"]),
    (["daemon/thrift/*"], KERNEL, "reading messages needs no kernel", []),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
OURS = tuple(room + "/" for room in ROOMS_IN_DOCS)


def matches(path, patterns):
    """A pattern is a folder (ends in "/"), or names files with * as in a shell."""
    return any(path.startswith(p) if p == "" or p.endswith("/") else fnmatch.fnmatch(path, p)
               for p in patterns)


def room_of(path):
    rooms = [room for room in MAY_INCLUDE if path.startswith(room + "/")]
    return max(rooms, key=len, default=None)


def breach(path, quoted, bracketed):
    """What is wrong with one #include of `path`, or None."""
    room = room_of(path)
    if room is None:
        return "lies in no room; docs/architecture.md lists the rooms"
    included = quoted or bracketed
    for files, headers, why, but in NEVER:
        if matches(path, but):
            continue
        if matches(path, files) and not matches(path, TEST_FILES) and matches(included, headers):
            return f"may not include {included}: {why}"
    if not included.startswith(OURS):
        return None  # the system's, or generated beside the object files
    if bracketed:
        return f'must include {included} in "", which marks what is ours'
    is_test = matches(path, TEST_FILES)
    if is_test and matches(included, TESTS_MAY_INCLUDE):
        return None
    if not matches(included, MAY_INCLUDE[room]):
        allowed = ", ".join(MAY_INCLUDE[room])
        return f"{room}/ may not include {included}; it may use {allowed}"
    if matches(path, CORE) and not matches(included, CORE_MAY_INCLUDE):
        return f"may not include {included}: the daemon's core runs without the rest of daemon/"
    return None


def check_text(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            what = breach(path, found[1], found[2])
            if what:
                yield f"{path}:{number}: {what}"
            elif (found[1] and found[1].startswith(OURS) and not found[1].endswith(".hh")
                  and not (ROOT / found[1]).is_file()):  # .hh: bison's, in the build folder
                yield f"{path}:{number}: {found[1]} does not exist"


def check_page(text):
    """The page's table names the same rooms as this file."""
    rooms = re.findall(r"^\| `(\w+)/` \|", text, re.MULTILINE)
    if sorted(rooms) != sorted(ROOMS_IN_DOCS):
        yield f"docs/architecture.md: its table has {sorted(rooms)}, tests/rooms.py has others"


def check_tree():
    names = subprocess.run(
        ["git", "ls-files", "*.h", "*.cc", "*.y", "*.l"], cwd=ROOT, check=True,
        stdout=subprocess.PIPE, text=True).stdout.split()
    for name in names:
        if (ROOT / name).is_file():
            yield from check_text(name, (ROOT / name).read_text(encoding="utf-8"))
    yield from check_page((ROOT / "docs/architecture.md").read_text(encoding="utf-8"))


def self_test():
    refused = [
        ("engine/link/link.cc", '#include "daemon/worker.h"'),
        ("engine/link/link.cc", '#include "config/node.h"'),
        ("engine/link/link.cc", '#include "tests/fake_reactor.h"'),
        ("engine/link/tcp_lane.cc", "#include <sys/socket.h>"),
        ("engine/frame.cc", "#include <event2/event.h>"),
        ("engine/fabric/fabric.h", '#include "engine/frame.h"'),
        ("engine/fabric/loop/x.cc", "#include <infiniband/verbs.h>"),
        ("base/address.cc", '#include "config/node.h"'),
        ("config/node.cc", '#include "engine/protocols.h"'),
        ("hintgen/emit.cc", '#include "engine/frame.h"'),
        ("daemon/worker.cc", "#include <unistd.h>"),
        ("daemon/worker.cc", "#include <openssl/ssl.h>"),
        ("daemon/worker.cc", '#include "daemon/tls/tls_seal.h"'),
        ("daemon/worker.cc", '#  include "daemon/libevent_reactor.h"'),
        ("daemon/daemon.cc", "#include <daemon/worker.h>"),
        ("daemon/daemon.cc", "#include <systemd/sd-daemon.h>"),
        ("daemon/thrift/theader.cc", '#include "daemon/worker.h"'),
        ("daemon/hatctl/run.cc", '#include "daemon/admin.h"'),
        ("kv/store.cc", '#include "daemon/worker.h"'),
        ("kv/ycsb/client.cc", '#include "kv/store.h"'),
        ("elsewhere/file.cc", '#include "base/result.h"'),
        ("engine/frame.cc", '#include "engine/no_such_header.h"'),
    ]
    taken = [
        ("engine/plan/planner.h", '#include "config/hints.h"'),
        ("engine/link/link_test.cc", '#include "tests/fake_reactor.h"'),
        ("daemon/worker.h", '#include "engine/link/link.h"'),
        ("daemon/kernel_stream.cc", "#include <sys/socket.h>"),
        ("daemon/service_manager.cc", "#include <systemd/sd-daemon.h>"),
        ("tests/fake_reactor.h", '#include "base/reactor.h"'),
        ("engine/fabric/loop/x.cc", "#include <sys/socket.h>"),
        ("engine/fabric/verbs/x.cc", "#include <infiniband/verbs.h>"),
        ("kv/handler.h", '#include "HatKV.h"'),
        ("kv/ycsb/connection.cc", '#include "client/thrift/TShmSocket.h"'),
    ]
    wrong = [f"got past: {p}: {line}" for p, line in refused if not list(check_text(p, line))]
    wrong += [f"refused: {p}: {line}" for p, line in taken if list(check_text(p, line))]
    if not list(check_page("| `base/` | | |\n")):
        wrong.append("got past: a table without most rooms")
    return wrong


if __name__ == "__main__":
    checker.run("rooms", self_test, check_tree, "every include is allowed")
