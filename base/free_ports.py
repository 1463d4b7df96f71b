#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""base/free_ports.py [COUNT]: prints free TCP ports of 127.0.0.1, for programs that start later.

A test could bind port 0 to get a free port from the kernel, and close the socket. But the kernel could then
give the same port to another connection before the test's program binds the port. Therefore these ports are
outside the range from which the kernel chooses.

The module claims each port until its process ends: it binds an abstract unix socket whose name contains the
port number. The command ends at once and loses its claims, so it uses a range of its own (COMMANDS), from
which the module never claims ports.
"""

import pathlib
import random
import socket
import sys

CLAIMED = range(10_000, 30_000)
COMMANDS = range(30_000, 32_768)


def _kernels_own():
    """Returns the range of ports from which the kernel chooses ports for connections."""
    first, last = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()
    return range(int(first), int(last) + 1)


def _claim(port):
    """Claims a port for this process. Returns False if another process has claimed or bound the port."""
    with socket.socket(socket.AF_UNIX) as claim, socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            claim.bind(f"\0hatrpc-port-{port}")
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        claim.detach()  # keeps the socket open until the process ends
        return True


def free_ports(count, among=CLAIMED):
    """Returns `count` free ports. Two calls never return the same port, even in two processes that run together."""
    kernels_own = _kernels_own()
    ports = []
    for port in random.sample(among, len(among)):
        if len(ports) == count:
            break
        if port not in kernels_own and _claim(port):
            ports.append(port)
    if len(ports) < count:
        raise OSError(f"no {count} free ports among {among.start} to {among.stop - 1}, outside the kernel's "
                      f"own {kernels_own.start} to {kernels_own.stop - 1}")
    return ports


if __name__ == "__main__":
    print(*free_ports(int(sys.argv[1]) if len(sys.argv) > 1 else 1, COMMANDS))
