# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/network.py: hosts on a bridge, each a network namespace, and a DNS server with records that change.

The bridge is in the network namespace of the caller, which should be one of its own
(scenarios/fleet.py, main_in_a_network_namespace), whose end is the end of all its processes.
"""

import ctypes
import os
import socket
import subprocess

from nodes import wait_until

NET = "10.77.0"
DNS = f"{NET}.254"
TOOLS = ("dnsmasq", "nsenter")
RESOLV_CONF = ("/etc/resolv.conf", f"nameserver {DNS}\nsearch example\n")
BRIDGE = "hat-bridge"
LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x4000_0000


def run(*command):
    subprocess.run(command, check=True)


class DnsServer:
    """dnsmasq with records that set() replaces. While it is not running, the kernel refuses queries."""

    def __init__(self, address):
        self.address = address
        self.process = None

    def set(self, *options):
        self.stop()
        self.process = subprocess.Popen(
            ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=",
             "--group=", "--pid-file=", f"--listen-address={self.address}", "--bind-interfaces", "--local=/example/",
             "--local-ttl=1", "--host-record=ready.example,127.0.0.1", *options])
        wait_until("dnsmasq answers", lambda: socket.getaddrinfo("ready.example", 1))

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None


def hosts(name, *addresses):
    return [f"--host-record={name},{address}" for address in addresses]


class Host:
    """A host of the network. `enter`: words before a command that must run on this host."""

    def __init__(self, number):
        self.number = number
        self.name = f"host-{number}"
        self.address = f"{NET}.{number}"
        self.port = f"hat-port-{number}"  # the network card's end at the bridge
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self.namespace = f"/proc/{self.holder.pid}/ns/net"
        self.enter = ("nsenter", f"--net={self.namespace}")
        own = os.stat("/proc/self/ns/net").st_ino
        wait_until("the namespace exists", lambda: os.stat(self.namespace).st_ino != own)
        run("ip", "link", "add", self.port, "type", "veth", "peer", "name", "eth0", "netns", str(self.holder.pid))
        run("ip", "link", "set", self.port, "master", BRIDGE, "up")
        run(*self.enter, "ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            run(*self.enter, "ip", "link", "set", device, "up")

    def connect(self, connected):
        """Connects the host to the network, or cuts it off. While it is cut off, its packets are lost."""
        run("ip", "link", "set", self.port, "up" if connected else "down")

    def enter_with_this_thread(self):
        """Makes the sockets that the calling thread creates from now on sockets of this host."""
        with open(self.namespace, "rb") as namespace:
            if LIBC.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")

    def end(self):
        self.holder.kill()
        self.holder.wait()


class Network:
    """A bridge, the hosts at it by their numbers, and a DNS server at its address. A context manager."""

    def __init__(self, numbers):
        self.numbers = numbers
        self.hosts = {}
        self.dns = DnsServer(DNS)

    def __enter__(self):
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        try:
            run("ip", "address", "add", f"{DNS}/24", "dev", BRIDGE)
            run("ip", "link", "set", BRIDGE, "up")
            for number in self.numbers:
                self.hosts[number] = Host(number)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.dns.stop()
        for host in self.hosts.values():
            host.end()
        run("ip", "link", "del", BRIDGE)
