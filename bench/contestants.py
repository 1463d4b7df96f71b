"""bench/contestants.py: starts what the benchmark compares: ways from a client to the echo server.

Each is a list of running processes and the address that clients connect to, as echo_client takes it: a
port of this host, the path of a unix socket, or shm:PATH. All run side by side, and those whose turn it
is not lie idle.
"""

import dataclasses
import json
import os
import pathlib
import shutil
import socket
import subprocess
import time
import urllib.request


@dataclasses.dataclass
class Cores:
    """Where the client's host and the server's may run, as taskset(1) writes it."""
    client_host: str
    server_host: str


def all_cores():
    count = os.cpu_count()
    return Cores(f"0-{count - 1}", f"0-{count - 1}")


def half_each():
    count = os.cpu_count()
    if count < 2:
        raise SystemExit("bench: --split wants two cores or more, and here is one")
    half = count // 2
    return Cores(f"0-{half - 1}", f"{half}-{count - 1}")


@dataclasses.dataclass
class Contestant:
    name: str
    address: str
    processes: list  # the two sidecars; none for the direct way
    server: object  # the process at its end, which others may share

    def cpu_seconds(self):
        """User and system time so far: of the sidecars, of the server."""
        return sum(map(cpu_seconds, self.processes)), cpu_seconds(self.server)

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(timeout=10)


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def local_address(folder, local, name):
    """A free address between an application and the sidecar of its host."""
    if local == "tcp":
        return str(free_ports(1)[0])
    return f"{'shm:' if local == 'shm' else ''}{folder / name}.{local}"


def wait_for(address, process, what):
    address = address.removeprefix("shm:")
    is_path = address.startswith("/")
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if process.poll() is not None:
            raise SystemExit(f"bench: {what} ended at once, status {process.returncode}")
        with socket.socket(socket.AF_UNIX if is_path else socket.AF_INET) as probe:
            if probe.connect_ex(address if is_path else ("127.0.0.1", int(address))) == 0:
                return
        time.sleep(0.02)
    raise SystemExit(f"bench: {what} does not listen on {address}")


def echo_server(folder, programs, local, cores):
    """The server, which is the direct contestant."""
    address = "0" if local == "tcp" else local_address(folder, local, "server")
    command = ["taskset", "-c", cores.server_host, programs / "echo_server", address]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    address = process.stdout.readline().strip()
    name = "direct, rings" if local == "shm" else "direct"
    return Contestant(name, f"shm:{address}" if local == "shm" else address, [], process)


HAPROXY = """
global
  maxconn 4096
defaults
  mode tcp
  timeout connect 2s
  timeout client 60s
  timeout server 60s
frontend in
  bind {at}
  default_backend out
backend out
  server next {to}
"""


def haproxy_pair(folder, direct, local, nice, cores):
    """Client -> HAProxy -> HAProxy -> server; HAProxy's own defaults, a thread per core."""
    if shutil.which("haproxy") is None:
        raise SystemExit("bench: haproxy is not installed; ./dev bench installs it")
    entry, link = local_address(folder, local, f"haproxy-{nice}"), str(free_ports(1)[0])
    processes = []
    for host, at, to, where in (("b", link, direct.address, cores.server_host),
                                ("a", entry, link, cores.client_host)):
        config = folder / f"haproxy-{nice}-{host}.cfg"
        config.write_text(HAPROXY.format(at=in_haproxy(at), to=in_haproxy(to)))
        command = ["taskset", "-c", where, "nice", "-n", str(nice), "haproxy", "-db", "-f", config]
        log = open(folder / f"haproxy-{nice}-{host}.log", "w", encoding="utf-8")
        processes.append(subprocess.Popen(command, stdout=log, stderr=log))
        wait_for(at, processes[-1], "haproxy")
    return Contestant(named("HAProxy pair", nice), entry, processes, direct.server)


def in_haproxy(address):
    return f"unix@{address}" if address.startswith("/") else f"127.0.0.1:{address}"


def in_hatrpcd(address):
    if address.startswith("shm:"):
        return address
    return f"unix:{address}" if address.startswith("/") else f"tcp:127.0.0.1:{address}"


@dataclasses.dataclass
class Lanes:
    """What a pair of hatrpcds has between its hosts."""
    name: str
    fabric: str
    hint: dict
    bulk: dict = dataclasses.field(default_factory=dict)  # of that function, where it is another


# Without an RDMA device `auto` is memory that the two daemons share.
LANES = (Lanes("hatrpcd, TCP lanes", "tcp", {}),
         Lanes("hatrpcd, latency", "auto", {"perf_goal": "latency"}),
         Lanes("hatrpcd, throughput", "auto", {"perf_goal": "throughput"}))


def hatrpcd_pair(folder, programs, direct, local, nice, cores, lanes):
    """Client -> hatrpcd -> hatrpcd -> server; one worker each, as on any small host."""
    tag = f"{local}-{nice}-" + "".join(c for c in lanes.name if c.isalnum())
    endpoint, link, admin = local_address(folder, local, f"hatrpcd-{tag}"), *map(str, free_ports(2))
    manifest = folder / f"echo-{tag}.yaml"
    bulk = {"hint": lanes.bulk} if lanes.bulk else {}
    echo = {"functions": {"echo": {}, "bulk": bulk}, **({"hint": lanes.hint} if lanes.hint else {})}
    manifest.write_text(json.dumps({"hatrpc_manifest": 1, "services": {"Echo": echo}}))
    nodes = {
        "host-b": {
            "link": {"listen": in_hatrpcd(link), "insecure": True},
            "serves": {"Echo": {"upstream": in_hatrpcd(direct.address)}},
        },
        "host-a": {
            "link": {"insecure": True},
            "peers": {"host-b": {"link": in_hatrpcd(link)}},
            "endpoints": [{"listen": in_hatrpcd(endpoint), "service": "Echo",
                           "peers": ["host-b"]}],
            "admin": {"listen": in_hatrpcd(admin)},
        },
    }
    processes = []
    for name, node in nodes.items():
        config = folder / f"{name}-{tag}.yaml"
        config.write_text(json.dumps({"node": name, "manifests": [manifest.name],
                                      "fabric": lanes.fabric, "worker_nice": nice, **node}))
        log = open(folder / f"{name}-{tag}.log", "w", encoding="utf-8")
        where = cores.client_host if name == "host-a" else cores.server_host
        command = ["taskset", "-c", where, programs / "hatrpcd", "--config", config]
        processes.append(subprocess.Popen(command, stdout=log, stderr=log))
        if name == "host-b":
            wait_for(link, processes[-1], "hatrpcd of host-b")
    wait_for(endpoint, processes[-1], "hatrpcd of host-a")
    wait_until_ready(admin)
    name = f"{lanes.name}, rings" if local == "shm" else lanes.name
    return Contestant(named(name, nice), endpoint, processes, direct.server)


def wait_until_ready(admin_port):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{admin_port}/readyz", timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("bench: hatrpcd of host-a is not ready after 10 s; see its log")


def named(name, nice):
    return name if nice == 0 else f"{name}, nice {nice}"
