# SPDX-License-Identifier: Apache-2.0
"""bench/tool/ways.py: sets up ways from a client to a running Thrift server: direct, HAProxy, hatrpcd.

All ways of an experiment run at the same time on one Site. Only the way that is being measured carries calls:

    with ways.Site(settings) as site:
        server = site.server([settings.programs / "echo_server", "0"])
        peers = ways.Peers({
            "direct": lambda: ways.direct(server),
            "HAProxy pair": lambda: ways.haproxy_pair(site, server),
            "hatrpcd pair": lambda: ways.hatrpcd_pair(site, server, "Echo", ways.manifest(
                "Echo", {"echo": {"protocol": "eager", "polling": "busy"}})),
        })
        peers["hatrpcd pair"].address    # the address for a client

An address is a string that our clients accept: a port of this host, the path of a unix socket, or shm:PATH.
"""

import collections
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

from tool import clock, processes
from tool.experiment import Failed

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "base"))

from free_ports import free_ports  # noqa: E402

# The folders of the code that runs in a call through two hatrpcds, except the client and the server.
CODE = ("base", "client", "config", "daemon", "engine")
ECHO = ("bench/account.h", "bench/closed_loop.cc", "bench/closed_loop.h", "bench/echo.thrift", "bench/echo_client.cc",
        "bench/echo_connection.cc", "bench/echo_connection.h", "bench/echo_server.cc")
ROLES = ("server", "client_sidecar", "server_sidecar")  # the processes of a way, without the client
LOCALS = ("tcp", "unix", "shm")  # kinds of connections between an application and the sidecar of its host
CALIBRATE_SECONDS = 90  # at most


@dataclasses.dataclass(frozen=True)
class Cores:
    """The cores for the processes on the client's side and on the server's side, in taskset(1)'s syntax."""
    client_host: str
    server_host: str


def cores_to_use():
    return sorted(os.sched_getaffinity(0))


def in_taskset(cores):
    return ",".join(map(str, cores))


def all_cores():
    return Cores(*[in_taskset(cores_to_use())] * 2)


def half_each():
    cores = cores_to_use()
    if len(cores) < 2:
        raise Failed("cannot split the cores: this machine has one, and two or more are needed")
    half = len(cores) // 2
    return Cores(in_taskset(cores[:half]), in_taskset(cores[half:]))


class Site(processes.Group):
    """The folder, cores and processes of one experiment's ways. A context manager, which ends all processes."""

    def __init__(self, settings, cores=None, nice=0):
        super().__init__()
        self.folder, self.programs = settings.folder, settings.programs
        self.cores = cores or all_cores()
        self.nice = nice  # the sidecars' niceness
        self.files = 0

    def file(self, name):
        """Returns a new path in the temporary folder."""
        self.files += 1
        return self.folder / f"{self.files}-{name}"

    def port(self):
        """Returns a free port that no earlier call has returned."""
        return free_ports(1)[0]

    def address(self, local, name="socket"):
        """Returns a free address of that kind."""
        if local == "tcp":
            return str(self.port())
        return f"{'shm:' if local == 'shm' else ''}{self.file(name)}.{local}"

    def server(self, command, variables=None):
        """Starts a Thrift server on the cores of the server's side. It must print its address when it listens."""
        process = self.start(command, self.file("server.log"), self.cores.server_host,
                             stdout=subprocess.PIPE, variables=variables)
        address = processes.first_line(process)
        if any(str(word).startswith("shm:") for word in command):
            address = f"shm:{address.removeprefix('shm:')}"
        return Server(address, process)

    def client(self, command, seconds, variables=None):
        """Runs a client on the cores of the client's side until it ends; returns the JSON object that it prints."""
        return processes.run_client(command, seconds, self.cores.client_host, variables)

    def sidecar(self, command, name, host):
        cores = self.cores.client_host if host == "a" else self.cores.server_host
        return self.start(command, self.file(f"{name}-{host}.log"), cores, self.nice)


@dataclasses.dataclass
class Server:
    address: str
    process: subprocess.Popen


@dataclasses.dataclass
class Way:
    address: str  # the address to which clients connect
    server: Server  # the server that answers; several ways can have the same server
    sidecars: list = dataclasses.field(default_factory=list)  # processes; first the one on the client's side
    admins: list = dataclasses.field(default_factory=list)  # admin ports of hatrpcds, in the same order
    sockets: list = dataclasses.field(default_factory=list)  # admin sockets of hatrpcds, for hatctl
    manifest_file: pathlib.Path | None = None  # the hatrpcds' manifest
    variables: dict | None = None  # environment variables of the clients

    def cpu_seconds(self):
        """Returns the user and system time so far of the sidecars, and that of the server."""
        return (sum(map(processes.cpu_seconds, self.sidecars)),
                processes.cpu_seconds(self.server.process))

    def cpu_seconds_each(self):
        """Returns the user and system time so far of each process of ROLES that the way has."""
        return dict(zip(ROLES, map(processes.cpu_seconds, [self.server.process, *self.sidecars])))

    def metrics(self, family, host=0):
        """Returns (labels, value) for each line of a hatrpcd's metric. `host`: 0 (client's side), 1 (server's side)."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admins[host]}/metrics",
                                    timeout=10) as page:
            text = page.read().decode()
        found = re.findall(rf"^{re.escape(family)}(?:\{{(.*)\}})? (\S+)$", text, re.MULTILINE)
        return [(dict(re.findall(r'(\w+)="([^"]*)"', labels)), float(value))
                for labels, value in found]

    def calls_by_protocol(self, method=None):
        """Returns the number of calls so far by the protocol that carried their requests: an RDMA protocol or "tcp".

        The result is a Counter, so that the difference of two results is the calls of a measurement.
        """
        counts = collections.Counter()
        for (request, _), calls in self.calls_by_way(method).items():
            counts[request] += calls
        return counts

    def calls_by_way(self, method=None):
        """Returns the number of calls so far by what carried request and reply, as a Counter of (request, reply)."""
        counts = collections.Counter()
        for labels, value in self.metrics("hatrpc_calls_total"):
            if method in (None, labels.get("thrift_method")):
                counts[labels["request_protocol"], labels["reply_protocol"]] += int(value)
        return counts

    def trials(self):
        """Returns the number of trials that the client's hatrpcd has made for learned plans."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admins[0]}/routes", timeout=10) as page:
            routes = json.load(page)
        return sum(learned["trials"] for service in routes["services"] for function in service["functions"]
                   for learned in function["learned"])

    def calls_per_second(self, seconds):
        """Returns the calls per second during the next `seconds`, as the client's hatrpcd counts them."""
        begun, calls = time.monotonic(), self.calls_by_protocol().total()
        time.sleep(seconds)
        more = self.calls_by_protocol().total() - calls
        return more / (time.monotonic() - begun)

    def change_manifest(self, manifest):
        """Makes both hatrpcds load another manifest, which later connections use."""
        text = manifest_text(manifest)
        if text == self.manifest_file.read_text(encoding="utf-8"):
            return
        before = [self.generation(host) for host in range(len(self.sidecars))]
        write_whole(self.manifest_file, text)
        for host, sidecar in enumerate(self.sidecars):
            sidecar.send_signal(signal.SIGHUP)
            end = time.monotonic() + processes.START_SECONDS
            while self.generation(host) == before[host]:
                processes.must_run(sidecar)
                if time.monotonic() > end:
                    raise Failed(f"hatrpcd does not load the changed manifest: "
                                 f"{processes.last_line(sidecar.log.read_text(encoding='utf-8'))}")
                time.sleep(0.005)

    def generation(self, host):
        return self.metrics("hatrpc_routes_generation", host)[0][1]


def echo_calls(site, way, point, seconds):
    """Makes calls of echo_client at a point; returns their rate, latencies, and CPU time of the sidecars per call."""
    sidecars, _ = way.cpu_seconds()
    found = site.client([site.programs / "echo_client", way.address, point["clients"], point["bytes"], seconds], seconds)
    sidecars_then, _ = way.cpu_seconds()
    calls = found["calls_per_s"] * seconds
    return {"calls_per_s": found["calls_per_s"], "p50_us": found["p50"], "p99_us": found["p99"],
            **clock.values(found), "sidecar_cpu_us": (sidecars_then - sidecars) * 1e6 / calls}


def manifest_text(manifest):
    return json.dumps({"hatrpc_manifest": 1, **manifest})


def write_whole(file, text):
    """Replaces the file atomically, because hatrpcd watches the file and must not read a part of it."""
    new = file.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    os.replace(new, file)


def share(counts, *protocols):
    """Returns the share (0 to 1) of the calls in `counts` (by protocol) whose requests one of `protocols` carried."""
    return sum(counts[protocol] for protocol in set(protocols)) / counts.total() if counts.total() else 0.0


def planned_share(counts, protocol):
    """Returns the share of the calls in `counts` (by way) whose request and reply were carried as `protocol` says.

    A message that is too large for a slot is counted by the name of the protocol's rendezvous. A call without a reply
    counts by its request. On a lane of rfp, farm or pilaf, write_rndv is also the name of large replies that were
    pushed while the client's daemon did not READ; the share cannot tell the two apart.
    """
    rendezvous = "read_rndv" if protocol in ("ar_grpc", "read_rndv") else "write_rndv"
    planned = sum(calls for (request, reply), calls in counts.items()
                  if request in (protocol, rendezvous) and reply in (protocol, rendezvous, "none"))
    return planned / counts.total() if counts.total() else 0.0


def clients(count):
    return f"{count} client{'' if count == 1 else 's'}"


def rdma_share(counts):
    """Returns the share of the calls in `counts` (by way) whose requests RDMA carried."""
    return 1 - sum(calls for (request, _), calls in counts.items() if request == "tcp") / counts.total() \
        if counts.total() else 0.0


class Peers:
    """The ways of an experiment, by the name of the peer. Each way is started when it is first used.

    If the start fails, it is not tried again, and each measurement of the way fails with the same message.
    """

    def __init__(self, start):
        self.start = start
        self.started = {}

    def __getitem__(self, name):
        if name not in self.started:
            try:
                self.started[name] = self.start[name]()
            except Failed as failure:
                self.started[name] = failure
        way = self.started[name]
        if isinstance(way, Failed):
            raise Failed(str(way))
        return way


# --- The ways -------------------------------------------------------------------------------------


def direct(server):
    return Way(server.address, server)


HAPROXY = """
global
  maxconn 4096
defaults
  mode tcp
  timeout connect 20s
  timeout client 60s
  timeout server 60s
frontend in
  bind {at}
  default_backend out
backend out
  server next {to}
"""


def haproxy_pair(site, server, local="tcp"):
    """Sets up client -> HAProxy -> HAProxy -> server, with HAProxy's default of a thread per core."""
    if shutil.which("haproxy") is None:
        raise Failed("haproxy is not installed: `apt-get install haproxy`, or ./dev bench as root")
    entry, link = site.address(local, "haproxy"), site.address("tcp")
    pair = []
    for host, at, to in (("b", link, server.address), ("a", entry, link)):
        config = site.file(f"haproxy-{host}.cfg")
        config.write_text(HAPROXY.format(at=in_haproxy(at), to=in_haproxy(to)), encoding="utf-8")
        pair.insert(0, site.sidecar(["haproxy", "-db", "-f", config], "haproxy", host))
        wait_for(at, pair[0])
    return Way(entry, server, pair)


def haproxy_version():
    if shutil.which("haproxy") is None:
        return "not installed"
    said = subprocess.run(["haproxy", "-v"], capture_output=True, text=True, check=True).stdout
    return said.split()[2]


def manifest(service, functions, hint=None):
    """Returns a manifest of one service. `functions`: hints by function ({}: none). `hint`: hints of the service."""
    listed = {name: {"hint": hints} if hints else {} for name, hints in functions.items()}
    return {"services": {service: {"functions": listed, **({"hint": hint} if hint else {})}}}


def hatrpcd_pair(site, server, service, manifest, local="tcp", fabric="auto", node=None, tls=False, programs=None):
    """Sets up client -> hatrpcd -> hatrpcd -> server, with one worker in each daemon, as on any small host.

    `local`: the kind of address to which clients connect. `fabric`: `loop` is shared memory, as is `auto` without an
    RDMA device; `tcp` means no RDMA lanes. `node`: more configuration for both daemons. `tls`: whether the link has
    TLS; otherwise it is insecure. `programs`: the folder with hatrpcd; None: that of the site.
    """
    entry, link = site.address(local, "hatrpcd"), site.address("tcp")
    admins = [site.port(), site.port()]
    sockets = [str(site.file(f"admin-{host}.sock")) for host in "ab"]
    file = site.file("manifest.yaml")
    write_whole(file, manifest_text(manifest))
    security = link_security(site, tls)
    hosts = {
        "b": {"link": {"listen": in_hatrpcd(link), **security["host-b"]},
              "serves": {service: {"upstream": in_hatrpcd(server.address)}},
              "admin": {"listen": f"tcp:127.0.0.1:{admins[1]}", "socket": sockets[1]}},
        "a": {"link": security["host-a"], "peers": {"host-b": {"link": in_hatrpcd(link)}},
              "endpoints": [{"listen": in_hatrpcd(entry), "service": service,
                             "peers": ["host-b"]}],
              "admin": {"listen": f"tcp:127.0.0.1:{admins[0]}", "socket": sockets[0]}},
    }
    pair = []
    for host, own in hosts.items():
        config = site.file(f"hatrpcd-{host}.yaml")
        config.write_text(json.dumps({"node": f"host-{host}", "manifests": [file.name],
                                      "fabric": fabric, "worker_nice": site.nice, **own,
                                      **(node or {})}), encoding="utf-8")
        pair.insert(0, site.sidecar([(programs or site.programs) / "hatrpcd", "--config", config], "hatrpcd",
                                    host))
        wait_for(link if host == "b" else entry, pair[0])
    wait_until_ready(admins[0], pair[0])
    return Way(entry, server, pair, admins, sockets, file)


def calibrated(site, server, service, fabric="auto"):
    """Measures a profile with a pair of idle hatrpcds; returns the path of the profile."""
    pair = hatrpcd_pair(site, server, service, manifest(service, {}), fabric=fabric)
    profile = site.file("measured.yaml")
    done = subprocess.run([site.programs / "hatctl", "--socket", pair.sockets[0], "calibrate", "host-b", "--write",
                           profile], text=True, capture_output=True, timeout=CALIBRATE_SECONDS, check=False)
    if done.returncode != 0:
        raise Failed(done.stderr)
    return profile


def preloaded_pair(site, program, service, manifest, *words):
    """Sets up the way of hatrpcd_pair(), with the preloaded library in clients and server, which know only TCP.

    The server is `program` with a port and `words` as its arguments. No process listens at the clients' port, and the
    daemon knows only the server's ring, so that no call can use TCP between an application and its daemon.
    """
    library = site.programs.parent / "lib" / "libhatrpc-preload.so"
    if not library.exists():
        raise Failed(f"there is no {library}: build the target hatrpc_preload")
    port, nobody, ring = site.port(), site.port(), site.address("shm", "server")

    def variables(name, tcp, address):
        return {"LD_PRELOAD": library, name: f"127.0.0.1:{tcp}={address.removeprefix('shm:')}"}

    server = site.server([program, port, *words], variables("HATRPC_LISTEN_RINGS", port, ring))
    way = hatrpcd_pair(site, Server(ring, server.process), service, manifest, "shm")
    return dataclasses.replace(way, address=str(nobody), variables=variables("HATRPC_RINGS", nobody, way.address))


def link_security(site, tls):
    """Returns the security keys of the section `link` in each node's configuration, by node."""
    nodes = ("host-a", "host-b")
    if not tls:
        return {node: {"insecure": True} for node in nodes}
    folder = site.file("tls")
    subprocess.run([site.programs / "hatctl", "certs", "make", folder, *nodes],
                   stdout=subprocess.DEVNULL, check=True)
    return {node: {"tls": {"certificate": f"{folder}/{node}.pem", "key": f"{folder}/{node}.key",
                           "ca": f"{folder}/ca.pem"}} for node in nodes}


# --- Addresses ------------------------------------------------------------------------------------


def in_haproxy(address):
    if address.startswith("shm:"):
        raise Failed("HAProxy has no rings: give it a server on a TCP or unix socket")
    return f"unix@{address}" if address.startswith("/") else f"127.0.0.1:{address}"


def in_hatrpcd(address):
    if address.startswith("shm:"):
        return address
    return f"unix:{address}" if address.startswith("/") else f"tcp:127.0.0.1:{address}"


def wait_for(address, process):
    """Waits until the process listens at the address; raises Failed if the process ends or takes too long."""
    address = address.removeprefix("shm:")
    is_path = address.startswith("/")
    end = time.monotonic() + processes.START_SECONDS
    while time.monotonic() < end:
        processes.must_run(process)
        with socket.socket(socket.AF_UNIX if is_path else socket.AF_INET) as probe:
            if probe.connect_ex(address if is_path else ("127.0.0.1", int(address))) == 0:
                return
        time.sleep(0.02)
    raise Failed(f"{process.name} does not listen on {address} after {processes.START_SECONDS} s")


def wait_until_ready(admin, process):
    end = time.monotonic() + processes.START_SECONDS
    while time.monotonic() < end:
        processes.must_run(process)
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{admin}/readyz", timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    raise Failed(f"hatrpcd is not ready after {processes.START_SECONDS} s: {process.log}")
