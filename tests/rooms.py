#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/rooms.py: checks each #include against the dependencies that docs/architecture.md ("The components") allows.

Prints `file:line: the rule` for each breach; the exit status is 1 if there is one.
`--self-test` checks that this program finds breaches.
"""

import fnmatch
import pathlib
import re
import subprocess

import checker

ROOT = pathlib.Path(__file__).resolve().parent.parent

# By folder: the paths of this project that the folder's files may include. For a file in several of these folders, the
# longest one counts.
MAY_INCLUDE = {
    "base": ["base/"],
    "client": ["client/"],
    "client/rdma": ["client/rdma/", "daemon/configuration/", "daemon/process/rdma.h", "daemon/proxy/", "daemon/reactor/",
                    "daemon/tls/tls_seal.h", "base/"],
    "config": ["config/", "base/"],
    "engine": ["engine/", "base/", "config/component_costs.h", "config/hint*.h"],
    "engine/fabric": ["engine/fabric/", "base/"],
    "engine/memory": ["engine/memory/", "engine/fabric/", "base/"],
    "engine/costs": ["engine/costs/", "engine/rdma/", "engine/memory/", "engine/fabric/",
                     "engine/protocols.h", "config/component_costs.h", "base/"],
    "engine/rdma": ["engine/rdma/", "engine/memory/", "engine/fabric/", "engine/frame.h",
                    "engine/lane.h", "engine/protocols.h", "config/hint*.h", "base/"],
    "engine/legs": ["engine/legs/", "engine/rdma/", "engine/memory/", "engine/fabric/", "base/"],
    "hintgen": ["hintgen/", "config/", "engine/plan/", "engine/protocols.h", "base/"],
    "daemon/thrift": ["daemon/thrift/", "config/signature.h", "base/number.h", "base/utf8.h"],
    "daemon/metrics": ["daemon/metrics/", "daemon/thrift/request_check.h", "daemon/thrift/trace_context.h", "engine/",
                       "config/", "base/"],
    "daemon/tls": ["daemon/tls/", "daemon/metrics/", "engine/link/seal.h", "config/", "base/"],
    "daemon/discovery": ["daemon/discovery/", "config/", "base/"],
    "daemon/configuration": ["daemon/configuration/", "daemon/tls/tls_context.h", "engine/plan/", "config/", "base/"],
    "daemon/routing": ["daemon/routing/", "daemon/metrics/", "engine/", "config/", "base/"],
    "daemon/proxy": ["daemon/proxy/", "daemon/routing/", "daemon/metrics/", "daemon/thrift/", "engine/", "config/",
                     "base/"],
    "daemon/reactor": ["daemon/reactor/", "client/ring/", "base/"],
    "daemon/takeover": ["daemon/takeover/", "daemon/proxy/successor.h", "daemon/proxy/inbound/detached_connections.h",
                        "daemon/reactor/", "client/ring/memory.h", "config/", "base/"],
    "daemon/admin": ["daemon/admin/", "daemon/proxy/outbound/peer_lanes.h", "daemon/proxy/worker_status.h",
                     "daemon/routing/", "daemon/metrics/", "daemon/reactor/", "engine/", "config/", "base/"],
    "daemon/process": ["daemon/", "engine/", "config/", "base/"],
    "hatctl": ["hatctl/", "daemon/tls/make_certificates.h", "config/manifest*.h", "base/"],
    "hatctl/doctor": ["hatctl/", "daemon/configuration/", "daemon/discovery/", "daemon/tls/certificate.h", "config/",
                      "engine/fabric/verbs/gid.h", "engine/fabric/verbs/verbs_fabric.h", "base/"],
    "hatctl/what_if": ["hatctl/", "daemon/configuration/", "daemon/routing/", "engine/plan/", "config/", "base/"],
    "kv": ["kv/", "base/"],
    "kv/store": ["kv/store/", "kv/limits.h", "base/"],
    "kv/server": ["kv/server/", "kv/store/", "kv/limits.h", "client/thrift/", "client/ring/path_claim.h",
                  "config/hint*.h", "config/manifest.h", "config/diagnostics.h", "base/"],
    "kv/cli": ["kv/cli/", "kv/server/", "kv/limits.h", "kv/server_address.h", "client/thrift/", "base/"],
    "kv/ycsb": ["kv/ycsb/", "kv/server_address.h", "bench/account*.h", "client/thrift/",
                "base/"],
    "bench": ["bench/", "client/thrift/", "client/rdma/TRdma.h", "client/rdma/TServerRdma.h",
              "client/rdma/rdma_options.h", "base/", "config/"],
    "bench/engine": ["bench/engine/", "bench/model/", "bench/account*.h", "engine/", "config/hint*.h", "base/"],
    "bench/model": ["bench/model/", "client/ring/spin_policy.h", "engine/fabric/", "base/"],
    "bench/daemons": ["bench/daemons/", "bench/model/", "bench/account*.h", "daemon/proxy/", "daemon/metrics/",
                      "daemon/routing/", "engine/", "config/", "base/"],
    "bench/dds": ["bench/dds/", "engine/costs/", "engine/fabric/", "base/"],
    "tests": [""],
}
TOP_FOLDERS = sorted({folder.split("/")[0] for folder in MAY_INCLUDE})

# Files of tests and fuzz targets, and the headers that these may include in addition.
TEST_FILES = ["*_test.cc", "*_fuzz.cc", "*/fake_*.h", "*/domain_conformance.*"]
TESTS_MAY_INCLUDE = ["tests/*.h"]

# Folders whose code also runs in the simulation, so that it may use the kernel only through a reactor.
SIMULATED = ["daemon/metrics/", "daemon/routing/", "daemon/proxy/"]
# Folders that form one component with the folders inside them, which may include each other.
ONE_COMPONENT = ["daemon/proxy", "hatctl"]
KERNEL = ["sys/socket.h", "sys/un.h", "sys/epoll.h", "sys/eventfd.h", "sys/ioctl.h", "sys/stat.h",
          "unistd.h", "fcntl.h", "netdb.h", "netinet/*", "arpa/*", "poll.h", "event2/*"]

# (files, headers that these files must not include, the reason, files that are exceptions)
NEVER = [
    (["base/*", "config/*", "engine/*", "hintgen/*"], ["thrift/*", "event2/*"],
     "only daemon/ knows Thrift's library and libevent", []),
    (["*"], ["infiniband/*"], "only the verbs fabric knows devices", ["engine/fabric/verbs/"]),
    (["*"], ["systemd/*"], "only daemon/process/service_manager.cc knows systemd",
     ["daemon/process/service_manager.cc"]),
    (["*"], ["openssl/*"], "only daemon/tls knows OpenSSL", ["daemon/tls/"]),
    (["*"], ["ares.h"], "only daemon/discovery knows c-ares", ["daemon/discovery/"]),
    (["*"], ["CLI/*", "getopt.h"], "base/arguments.h is the one parser of command lines", ["base/arguments.cc"]),
    (SIMULATED, KERNEL, "code that the simulation runs asks its reactor, never the kernel", []),
    (["engine/*"], KERNEL, "the engine asks its reactor", ["engine/fabric/"]),
    (["daemon/thrift/*"], KERNEL, "reading messages needs no kernel", []),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
OURS = tuple(folder + "/" for folder in TOP_FOLDERS)


def matches(path, patterns):
    """Returns True if `path` matches a pattern: a folder, which ends in "/", or a file name with * as in a shell."""
    return any(path.startswith(p) if p == "" or p.endswith("/") else fnmatch.fnmatch(path, p)
               for p in patterns)


def component_of(path):
    """Returns the file's folder, or the folder of ONE_COMPONENT that contains it."""
    whole = [folder for folder in ONE_COMPONENT if path.startswith(folder + "/")]
    return whole[0] if whole else path.rpartition("/")[0]


def folder_of(path):
    """Returns the longest folder of MAY_INCLUDE that contains the file, or None."""
    folders = [folder for folder in MAY_INCLUDE if path.startswith(folder + "/")]
    return max(folders, key=len, default=None)


def breach(path, quoted, bracketed):
    """Returns the rule that one #include in the file `path` breaks, or None."""
    folder = folder_of(path)
    if folder is None:
        return "is in no folder that tests/rooms.py knows; add the folder there and to docs/architecture.md"
    included = quoted or bracketed
    for files, headers, why, but in NEVER:
        if matches(path, but):
            continue
        if matches(path, files) and not matches(path, TEST_FILES) and matches(included, headers):
            return f"may not include {included}: {why}"
    if not included.startswith(OURS):
        return None  # a header of the system, or a generated header
    if bracketed:
        return f'must include {included} in "", as every header of this project'
    is_test = matches(path, TEST_FILES)
    if is_test and matches(included, TESTS_MAY_INCLUDE):
        return None
    if not matches(included, MAY_INCLUDE[folder]):
        allowed = ", ".join(MAY_INCLUDE[folder])
        return f"{folder}/ may not include {included}; it may use {allowed}"
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
    """Checks that the tables of docs/architecture.md name the same folders as this file."""
    top, _, inside = text.partition("### Inside the daemon")
    for part, expected in ((top, TOP_FOLDERS),
                           (inside, [folder.removeprefix("daemon/") for folder in MAY_INCLUDE
                            if folder.startswith("daemon/")])):
        named = re.findall(r"^\| `(\w+)/` \|", part, re.MULTILINE)
        if sorted(named) != sorted(expected):
            yield f"docs/architecture.md: a table has {sorted(named)}, tests/rooms.py has {sorted(expected)}"


def cycles(edges):
    """Returns the sets of folders that include each other. `edges`: by folder, the folders that it includes."""
    def reached(start):
        found, todo = set(), [start]
        while todo:
            for folder in edges.get(todo.pop(), ()):
                if folder not in found:
                    found.add(folder)
                    todo.append(folder)
        return found
    reach = {folder: reached(folder) for folder in edges}
    return {frozenset(other for other in reach[folder] if folder in reach.get(other, ()))
            for folder in edges if folder in reach[folder]}


def check_cycles(texts):
    """Checks that no folder includes itself through other folders, except within ONE_COMPONENT. `texts`: by path."""
    edges = {}
    for path, text in texts.items():
        if matches(path, TEST_FILES) or folder_of(path) == "tests":
            continue
        folder = component_of(path)
        for found in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.MULTILINE):
            if found in texts and component_of(found) != folder:
                edges.setdefault(folder, set()).add(component_of(found))
    for cycle in cycles(edges):
        yield f"these folders include each other: {', '.join(sorted(cycle))}"


def check_tree():
    names = subprocess.run(
        ["git", "ls-files", "*.h", "*.cc", "*.y", "*.l"], cwd=ROOT, check=True,
        stdout=subprocess.PIPE, text=True).stdout.split()
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in names if (ROOT / name).is_file()}
    for name, text in texts.items():
        yield from check_text(name, text)
    yield from check_cycles(texts)
    yield from check_page((ROOT / "docs/architecture.md").read_text(encoding="utf-8"))


def self_test():
    refused = [
        ("engine/link/link.cc", '#include "daemon/proxy/worker.h"'),
        ("engine/link/link.cc", '#include "config/node.h"'),
        ("engine/link/link.cc", '#include "tests/fake_reactor.h"'),
        ("engine/link/tcp_lane.cc", "#include <sys/socket.h>"),
        ("engine/frame.cc", "#include <event2/event.h>"),
        ("engine/fabric/fabric.h", '#include "engine/frame.h"'),
        ("engine/fabric/loop/x.cc", "#include <infiniband/verbs.h>"),
        ("base/address.cc", '#include "config/node.h"'),
        ("config/node.cc", '#include "engine/protocols.h"'),
        ("hintgen/emit.cc", '#include "engine/frame.h"'),
        ("daemon/proxy/worker.cc", "#include <unistd.h>"),
        ("daemon/proxy/worker.cc", "#include <openssl/ssl.h>"),
        ("daemon/proxy/worker.cc", '#include "daemon/tls/tls_seal.h"'),
        ("daemon/proxy/worker.cc", '#  include "daemon/reactor/libevent_reactor.h"'),
        ("daemon/process/daemon.cc", "#include <daemon/proxy/worker.h>"),
        ("daemon/process/daemon.cc", "#include <systemd/sd-daemon.h>"),
        ("daemon/daemon.cc", '#include "base/result.h"'),
        ("daemon/routing/lane_key.h", '#include "daemon/proxy/call.h"'),
        ("daemon/thrift/theader.cc", '#include "daemon/proxy/worker.h"'),
        ("hatctl/run.cc", '#include "daemon/admin/admin.h"'),
        ("kv/store/store.cc", '#include "kv/server/handler.h"'),
        ("kv/ycsb/client.cc", '#include "kv/store/store.h"'),
        ("elsewhere/file.cc", '#include "base/result.h"'),
        ("engine/frame.cc", '#include "engine/no_such_header.h"'),
    ]
    taken = [
        ("engine/plan/planner.h", '#include "config/hints.h"'),
        ("engine/link/link_test.cc", '#include "tests/fake_reactor.h"'),
        ("daemon/proxy/worker.h", '#include "engine/link/link.h"'),
        ("daemon/reactor/kernel_stream.cc", "#include <sys/socket.h>"),
        ("daemon/process/service_manager.cc", "#include <systemd/sd-daemon.h>"),
        ("tests/fake_reactor.h", '#include "base/reactor.h"'),
        ("engine/fabric/loop/x.cc", "#include <sys/socket.h>"),
        ("engine/fabric/verbs/x.cc", "#include <infiniband/verbs.h>"),
        ("kv/server/handler.h", '#include "HatKV.h"'),
        ("kv/ycsb/connection.cc", '#include "client/thrift/TShmSocket.h"'),
    ]
    wrong = [f"got past: {p}: {line}" for p, line in refused if not list(check_text(p, line))]
    wrong += [f"refused: {p}: {line}" for p, line in taken if list(check_text(p, line))]
    cycle = {"engine/a/x.h": '#include "engine/b/y.h"', "engine/b/y.h": '#include "engine/c/z.h"',
             "engine/c/z.h": '#include "engine/a/x.h"'}
    if not list(check_cycles(cycle)):
        wrong.append("got past: a cycle of three folders")
    if list(check_cycles({path: text for path, text in cycle.items() if "c/" not in path})):
        wrong.append("refused: folders without a cycle")
    if not list(check_page("| `base/` | | |\n")):
        wrong.append("got past: a table without most folders")
    return wrong


if __name__ == "__main__":
    checker.run("rooms", self_test, check_tree, "every include is allowed")
