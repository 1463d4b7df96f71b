# SPDX-License-Identifier: Apache-2.0
"""kv/ycsb/setting.py: starts HatKV and two hatrpcds, and runs a driver on them: YCSB ("java") or hatkv-ycsb ("native").

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
ROOM_WANTED = 2 << 30  # if /dev/shm has fewer free bytes, the store is on disk

# By YCSB's name of an operation: the function of HatKV that the operation calls.
FUNCTIONS = {"READ": "get", "UPDATE": "put", "MULTIREAD": "multiget", "MULTIUPDATE": "multiput",
             "INSERT": "put"}


def workload(name):
    """Returns the path of a workload file. `name`: the name of a file in kv/ycsb/workloads, or any path."""
    file = HERE / "workloads" / name if re.fullmatch(r"\w+", name) else pathlib.Path(name)
    if not file.is_file():
        ours = ", ".join(sorted(one.name for one in (HERE / "workloads").iterdir()))
        raise Failed(f"there is no workload {name}; expected {ours}, or the path of a YCSB workload file")
    return file


def manifest(programs):
    """Returns the manifest that hintgen makes from HatKV's hints."""
    done = subprocess.run([programs / "hintgen", IDL], capture_output=True, text=True, check=True)
    found = yaml.safe_load(done.stdout)
    return {"services": found["services"]}


@contextlib.contextmanager
def folder_in_memory():
    """Makes a folder for the store, in memory if there is space, so that no disk is measured (HatRPC, SC'21, 5.4)."""
    parent = None
    if SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free > ROOM_WANTED:
        parent = SHARED_MEMORY
    with tempfile.TemporaryDirectory(prefix="hatkv-ycsb-", dir=parent) as name:
        yield pathlib.Path(name)


def start_hatkv(site, data, *locals_, options=()):
    """Starts HatKV with an address of each kind in `locals_`. Returns a ways.Server for each address, by kind."""
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
        raise Failed(f"hatkv did not print one address of each kind, but {lines}")
    return servers


class Driven:
    """The output of one phase of a driver, as text and parsed."""

    def __init__(self, text):
        self.text = text
        self.values = collections.defaultdict(dict)  # by operation: value by name
        for operation, name, value in re.findall(r"^\[([^\]]+)\], ([^,]+), (\S+)$", text,
                                                 re.MULTILINE):
            self.values[operation][name] = float(value)

    def count(self, operation):
        """Returns how many operations of the type `operation` succeeded."""
        return int(self.values[operation].get("Return=OK", 0))

    def failures(self):
        """Returns (operation, result, count) for each kind of failure."""
        return [(operation, name.removeprefix("Return="), int(value))
                for operation, values in self.values.items() for name, value in values.items()
                if name.startswith("Return=") and name != "Return=OK"]


def wanted_operations(phase, properties):
    """Returns how many operations the properties ask for.

    This is compared with the reported operations, because YCSB does not report operations that its threads did not
    make, for example because they could not connect.
    """
    said = dict(one.split("=", 1) for one in properties[1:])
    keys = ("insertcount", "recordcount") if phase == "load" else ("operationcount",)
    return int(next((said[key] for key in keys if key in said), 1))


class Place:
    """HatKV and two hatrpcds that lead to it. Addresses have the format of bench/tool/ways.py."""

    def __init__(self, site, binding, way):
        self.site, self.binding, self.way = site, binding, way

    def drive(self, driver, phase, properties, show=False):
        """Runs one phase (load or run) of a driver (java or native); returns its output as Driven.

        `properties`: a list whose first element is a workload file; the others are words KEY=VALUE. Raises Failed if
        the driver or one of its operations failed.
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
        if address.startswith("shm:"):  # Java has no transport for rings, so it uses the preloaded library
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
        """Returns a Counter of the calls that the client's hatrpcd has carried so far, by (function, protocols).

        `protocols` is the protocol of request and reply, or "REQUEST / REPLY" if they differ.
        """
        counts = collections.Counter()
        for labels, value in self.way.metrics("hatrpc_calls_total"):
            protocols = [labels["request_protocol"], labels["reply_protocol"]]
            counts[labels["thrift_method"], " / ".join(dict.fromkeys(protocols))] += int(value)
        return counts


@contextlib.contextmanager
def start(programs, binding, local="tcp", fabric="auto"):
    """Starts HatKV and two hatrpcds; yields a Place. `local`: how applications connect to their hatrpcd."""
    with tempfile.TemporaryDirectory(prefix="hatkv-ycsb-") as folder, folder_in_memory() as data:
        settings = types.SimpleNamespace(folder=pathlib.Path(folder), programs=programs)
        with ways.Site(settings) as site:
            server = start_hatkv(site, data, local)[local]
            way = ways.hatrpcd_pair(site, server, "HatKV", manifest(programs), local, fabric)
            yield Place(site, binding, way)
