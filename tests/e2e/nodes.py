# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/nodes.py: starts two hatrpcds and test servers, on free ports and with files in a temporary folder."""

import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "base"))

from cable import Cable  # noqa: E402
from free_ports import free_ports  # noqa: E402

# Seconds to wait for something that normally takes less than one: a virtual machine can stand still for 17 s.
WAIT_S = 30
# Seconds for a daemon to end. On a virtual machine, daemons that had logged their last line once took 17 s to end.
END_S = 60


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=WAIT_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(WAIT_S)
        self.sock.connect(str(self.path))


def ask(admin, method, path):
    """Sends an HTTP request to the admin socket at the path `admin`; returns the HTTP status and the body."""
    connection = UnixConnection(admin)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def wait_until(what, holds, seconds=WAIT_S):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if holds():
                return
        except OSError:
            pass
        time.sleep(0.02)
    raise AssertionError(f"after {seconds} s still not: {what}")


def threads_of(process):
    """Returns a text about each thread of a process, from /proc. The tests log it if a process does not end."""
    lines = []
    for task in sorted(pathlib.Path(f"/proc/{process.pid}/task").iterdir()):
        facts = []
        for fact in ("comm", "wchan", "syscall", "stack"):
            try:
                facts.append(f"{fact}: {(task / fact).read_text(encoding='utf-8').strip()}")
            except OSError as error:  # the thread has ended, or only root may read the file
                facts.append(f"{fact}: {error.strerror}")
        lines.append(f"thread {task.name}: " + ", ".join(facts))
    return "\n".join(lines)


class Here:
    """The host on which the tests run: its address, and the words (none) before a command that must run here."""
    address = "127.0.0.1"
    enter = ()


HERE = Here()


class Node:
    """One hatrpcd, with its configuration and its log in a folder of its own."""

    def __init__(self, programs, folder, config, http_port=None, host=HERE):
        self.programs = programs
        self.folder = folder / config["node"]
        self.folder.mkdir()
        self.name = config["node"]
        self.admin = self.folder / "admin.sock"
        self.config = self.folder / "hatrpcd.yaml"
        admin = {"socket": str(self.admin)}
        if http_port is not None:
            self.http = f"127.0.0.1:{http_port}"
            admin["listen"] = f"tcp:{self.http}"
        config = {"manifests": ["../manifests"], "admin": admin, **config}
        self.config.write_text(json.dumps(config, indent=1))  # JSON is YAML
        self.host = host
        self.process = None

    def start(self, before=(), **popen):
        """Starts the daemon and waits until it is ready. `before`: words to put before the daemon's command line."""
        with open(self.folder / "log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [*self.host.enter, *before, self.programs / "hatrpcd", "--config", self.config], stdout=log,
                stderr=log, **popen)
        wait_until(f"{self.name} is ready (its log: {self.log()[-2000:]})", self.is_ready)

    def take_over(self):
        """Starts a hatrpcd that takes over from the running hatrpcd; returns the old process, which can still run."""
        old = self.process
        with open(self.folder / "log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [*self.host.enter, self.programs / "hatrpcd", "--config", self.config, "--takeover"], stdout=log,
                stderr=log)
        wait_until(f"{self.name} has been taken over", self.is_taken_over, 30)
        return old

    def is_taken_over(self):
        if self.process.poll() is not None:
            raise AssertionError(f"{self.name} ended, status {self.process.returncode}: {self.log()}")
        return self.get("/status")["pid"] == self.process.pid

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"{self.name} ended, status {self.process.returncode}: {self.log()}")
        return ask(self.admin, "GET", "/readyz")[0] == 200

    def stop(self, how=signal.SIGTERM, seconds=END_S):
        """Sends the signal `how`, waits until the daemon ends, and returns its exit status (negative: a signal)."""
        if self.process is None:
            return 0
        self.process.send_signal(how)
        return self.wait(seconds)

    def wait(self, seconds=END_S):
        """Waits until the daemon ends, and returns its exit status (negative: a signal)."""
        try:
            status = self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            print(f"--- {self.name} did not end within {seconds} s; its threads:\n{threads_of(self.process)}")
            raise
        self.process = None
        return status

    def get(self, path):
        status, body = ask(self.admin, "GET", path)
        assert status == 200, f"{self.name} {path}: {status} {body}"
        return json.loads(body)

    def links_are_up(self):
        """Returns True if no link that a client needs is down."""
        return all(link["state"] in ("up", "idle") for link in self.get("/status")["links"])

    def log(self):
        file = self.folder / "log"
        return file.read_text(encoding="utf-8") if file.exists() else ""


class TwoNodes:
    """Two nodes: host-a has an endpoint for each service, and host-b serves each service. A context manager."""

    def __init__(self, programs, manifest, upstreams, endpoints=None, limits=None, modes=None,
                 fabric="auto", fabric_b=None, http=False, links=None, identity=None, cable=False,
                 hosts=(HERE, HERE), keys=None, programs_b=None):
        """`upstreams`: address by service; `endpoints`: address by service (default: free ports).

        `fabric_b`: host-b's fabric, if it differs from host-a's. `http`: both nodes also listen at a TCP address
        for Prometheus and browsers. `links`: by node, the security part of its `link` (default: insecure).
        `identity`: the name that host-b's certificate must have, if it is not the node's name. `cable`: the link
        passes through `self.cable`. `hosts`: the hosts of host-a and host-b. `keys`: by node, more keys of its
        configuration. `programs_b`: the folder of host-b's programs, if it differs from host-a's.
        """
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hatrpc-e2e-"))
        self.manifest = self.folder / "manifests" / "probe.yaml"
        self.manifest.parent.mkdir()
        self.manifest.write_text(manifest)
        host_a, host_b = hosts
        services = list(upstreams)
        link, http_a, http_b, *ports = free_ports(len(services) + 3)
        if not http:
            http_a = http_b = None
        self.link = link
        self.endpoints = {service: f"tcp:{host_a.address}:{port}"
                          for service, port in zip(services, ports)} | (endpoints or {})
        limits = limits or {}
        links = {"host-a": {"insecure": True}, "host-b": {"insecure": True}} | (links or {})
        self.cable = Cable(link) if cable else None
        peer = {"link": f"tcp:{host_b.address}:{self.cable.port if cable else link}"} | ({"identity": identity} if identity else {})
        serves = {service: {"upstream": upstream, **(modes or {}).get(service, {})}
                  for service, upstream in upstreams.items()}
        self.b = Node(programs_b or programs, self.folder, {
            "node": "host-b", "fabric": fabric_b or fabric, "limits": limits, "serves": serves,
            "link": {"listen": f"tcp:{host_b.address}:{link}", **links["host-b"]},
            **(keys or {}).get("host-b", {})}, http_b, host_b)
        self.a = Node(programs, self.folder, {
            "node": "host-a", "fabric": fabric, "limits": limits, "link": links["host-a"],
            "peers": {"host-b": peer},
            "endpoints": [{"listen": address, "service": service, "peers": ["host-b"]}
                          for service, address in self.endpoints.items()],
            **(keys or {}).get("host-a", {})}, http_a, host_a)

    def __enter__(self):
        try:
            self.b.start()
            self.a.start()
        except BaseException:
            self.__exit__(AssertionError, None, None)
            raise
        return self

    def __exit__(self, kind, error, trace):
        statuses = {}
        for node in (self.a, self.b):
            try:
                statuses[node.name] = node.stop()
            except subprocess.TimeoutExpired:
                node.process.kill()
                node.process.wait()
                statuses[node.name] = "did not end on SIGTERM"
        drained = set(statuses.values()) == {0}
        if kind is not None or not drained:
            for node in (self.a, self.b):
                print(f"--- the end of {node.name}'s log:\n{node.log()[-4000:]}")
        if self.cable:
            self.cable.end()
        shutil.rmtree(self.folder)
        assert kind is not None or drained, statuses


class Server:
    """A test server that listens on each of `combinations`; `addresses` has their addresses in the same order."""

    def __init__(self, command, environment, combinations):
        words = list(command)
        for address, options in combinations:
            words += ["--listen", address, *options]
        self.errors = tempfile.TemporaryFile("w+")  # a file: a server that logs much would fill a pipe and block
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True,
                                        env={**os.environ, **environment})
        self.addresses = []
        for _ in combinations:
            line = self.process.stdout.readline()
            if not line.startswith("listening on "):
                self.errors.seek(0)
                raise AssertionError(f"{' '.join(words)}: {line}{self.errors.read()}")
            self.addresses.append(line[len("listening on "):].strip())

    def stop(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def hatrpc_address(address):
    return address if address.startswith(("unix:", "shm:")) else f"tcp:{address}"
