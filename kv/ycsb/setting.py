# SPDX-License-Identifier: Apache-2.0
"""kv/ycsb/setting.py: HatKV behind two daemons, and the drivers that load it: YCSB itself and hatkv-ycsb.

    with setting.start(programs, binding, local="unix") as place:      # from ycsb import setting
        place.drive("native", "load", properties)
        place.drive("java", "run", properties)
        place.calls()
"""

import collections
import contextlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types

import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent / "bench"), str(HERE.parent)]

from tool import processes, ways  # noqa: E402
from tool.experiment import Failed  # noqa: E402
from ycsb import build  # noqa: E402

IDL = HERE.parent / "hatkv.thrift"
SHARED_MEMORY = pathlib.Path("/dev/shm")
ROOM_WANTED = 2 << 30  # for the store; it is made on disk where there is less

# By the names that YCSB reports operations under.
FUNCTIONS = {"READ": "get", "UPDATE": "put", "MULTIREAD": "multiget", "MULTIUPDATE": "multiput",
             "INSERT": "put"}


def workload(name):
    """The file of a workload: one of ours by its name, or any by its path."""
    file = HERE / "workloads" / name if re.fullmatch(r"\w+", name) else pathlib.Path(name)
    if not file.is_file():
        ours = ", ".join(sorted(one.name for one in (HERE / "workloads").iterdir()))
        raise Failed(f"there is no workload {name}; there are {ours}, and any file of YCSB's")
    return file


def manifest(programs):
    """What hintgen makes of HatKV's hints."""
    done = subprocess.run([programs / "hintgen", IDL], capture_output=True, text=True, check=True)
    found = yaml.safe_load(done.stdout)
    return {"services": found["services"]}


@contextlib.contextmanager
def folder_in_memory():
    """For the store, as in HatRPC (SC'21) 5.4: what a disk takes to sync is not what is measured."""
    parent = None
    if SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free > ROOM_WANTED:
        parent = SHARED_MEMORY
    with tempfile.TemporaryDirectory(prefix="hatkv-ycsb-", dir=parent) as name:
        yield pathlib.Path(name)


def start_hatkv(site, data, *locals_, options=()):
    """HatKV on the server's host, on a socket of each of these kinds: a ways.Server of each, by kind."""
    words = []
    for local in locals_:
        words += ["--listen", "tcp:127.0.0.1:0" if local == "tcp" else
                  ways.in_hatrpcd(site.address(local, "hatkv"))]
    process = site.start([site.programs / "hatkv", "serve", *words, "--data", data, *options],
                         site.file("hatkv.log"), site.cores.server_host, stdout=subprocess.PIPE)
    lines = [processes.first_line(process), *(process.stdout.readline() for _ in locals_[1:])]
    servers = {}
    for line in lines:
        address = line.strip().removeprefix("listening on ")
        kind, _, rest = address.partition(":")
        servers[kind] = ways.Server({"tcp": rest.rpartition(":")[2], "unix": rest}.get(kind, address),
                                    process)
    if servers.keys() != set(locals_):
        raise Failed(f"hatkv said {lines}")
    return servers


class Driven:
    """What a driver's phase printed, and what is in it."""

    def __init__(self, text):
        self.text = text
        self.values = collections.defaultdict(dict)  # by operation: value by name
        for operation, name, value in re.findall(r"^\[([^\]]+)\], ([^,]+), (\S+)$", text,
                                                 re.MULTILINE):
            self.values[operation][name] = float(value)

    def count(self, operation):
        """Operations of that name that did what they should."""
        return int(self.values[operation].get("Return=OK", 0))

    def failures(self):
        """(operation, how it ended, how often), for all that did not."""
        return [(operation, name.removeprefix("Return="), int(value))
                for operation, values in self.values.items() for name, value in values.items()
                if name.startswith("Return=") and name != "Return=OK"]


def wanted_operations(phase, properties):
    """How many there are to be, by the assignments among the properties. YCSB's client says nothing of
    those that its threads never made, as when they cannot connect."""
    said = dict(one.split("=", 1) for one in properties[1:])
    keys = ("insertcount", "recordcount") if phase == "load" else ("operationcount",)
    return int(next((said[key] for key in keys if key in said), 1))


class Place:
    """HatKV behind two daemons. Addresses as in ways.py."""

    def __init__(self, site, binding, way):
        self.site, self.binding, self.way = site, binding, way

    def drive(self, driver, phase, properties, show=False):
        """One phase (load or run) of a driver (java or native): what it printed.

        `properties`: a list whose first is a workload file, the others KEY=VALUE. Raises Failed where
        the driver did, or any of its operations.
        """
        command = {"java": self.java, "native": self.native}[driver](phase, properties)
        process = self.site.start(command, self.site.file(f"{driver}.log"),
                                  self.site.cores.client_host, stdout=subprocess.PIPE)
        lines = []
        for line in process.stdout:
            lines.append(line)
            if show:
                print(line, end="", flush=True)
        driven = Driven("".join(lines))
        said = process.log.read_text(encoding="utf-8", errors="replace").strip()[-2000:]
        done = sum(driven.count(operation) for operation in driven.values if operation != "VERIFY")
        wanted = wanted_operations(phase, properties)
        if process.wait() != 0 or driven.failures() or done < wanted:
            failures = "".join(f", {operation} {how} {count}"
                               for operation, how, count in driven.failures())
            raise Failed(f"{driver} {phase}: exit status {process.returncode}, {done} of {wanted} "
                         f"operations done{failures}\n{said}")
        return driven

    def native(self, phase, properties):
        file, *assignments = properties
        words = [self.site.programs / "hatkv-ycsb", phase, "--connect",
                 ways.in_hatrpcd(self.way.address), "-P", file]
        return words + [word for one in assignments for word in ("-p", one)]

    def java(self, phase, properties):
        file, *assignments = properties
        address, environment = ways.in_hatrpcd(self.way.address), []
        if address.startswith("shm:"):  # rings know no Java: the preloaded library stands between
            port = self.site.port()
            library = self.site.programs.parent / "lib" / "libhatrpc-preload.so"
            ring = address.removeprefix("shm:")
            environment = ["env", f"LD_PRELOAD={library}", f"HATRPC_RINGS=127.0.0.1:{port}={ring}"]
            address = f"tcp:127.0.0.1:{port}"
        words = [*environment, "java", "-cp", build.class_path(self.binding), "site.ycsb.Client",
                 "-load" if phase == "load" else "-t", "-db", "site.ycsb.db.HatKvClient",
                 "-P", file]
        for one in [*assignments, f"hatkv.address={address}"]:
            words += ["-p", one]
        return words

    def calls(self):
        """What the clients' hatrpcd carried so far: Counter of calls by (function, protocol)."""
        counts = collections.Counter()
        for labels, value in self.way.metrics("hatrpc_calls_total"):
            counts[labels["thrift_method"], labels["protocol"]] += int(value)
        return counts


@contextlib.contextmanager
def start(programs, binding, local="tcp", fabric="auto"):
    """HatKV and two daemons, `local` being what joins both applications to the daemons: a Place."""
    with tempfile.TemporaryDirectory(prefix="hatkv-ycsb-") as folder, folder_in_memory() as data:
        settings = types.SimpleNamespace(folder=pathlib.Path(folder), programs=programs)
        with ways.Site(settings) as site:
            server = start_hatkv(site, data, local)[local]
            way = ways.hatrpcd_pair(site, server, "HatKV", manifest(programs), local, fabric)
            yield Place(site, binding, way)
