#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""base/free_ports.py [COUNT]: prints TCP ports of 127.0.0.1 that are free, for a program that starts later.

A port that the kernel chose and that was closed again may be anybody's before that program binds it: the
kernel gives it to the next connection. These lie outside the kernel's range, and each is claimed for as
long as this process runs, by an abstract unix socket of its number. The command's own ports cannot stay
claimed: they come from a part of the range that no claim touches.
"""

import pathlib
import random
import socket
import sys

CLAIMED = range(10_000, 30_000)
COMMANDS = range(30_000, 32_768)


def _kernels_own():
    """The ports that the kernel gives out by itself."""
    first, last = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()
    return range(int(first), int(last) + 1)


def _claim(port):
    """Whether it is this process's now. Nobody looks at a port that another has claimed."""
    with socket.socket(socket.AF_UNIX) as claim, socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            claim.bind(f"\0hatrpc-port-{port}")
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        claim.detach()  # open for as long as the process
        return True


def free_ports(count, among=CLAIMED):
    """No two calls give the same port, in this process or in another that runs at the same time."""
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
