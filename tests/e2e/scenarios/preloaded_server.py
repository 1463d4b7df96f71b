# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/preloaded_server.py: a TCP echo server that waits for its connections in one of several ways.

usage: preloaded_server.py HOST PORT WAY

The program itself does not use rings. preload_server_test.py runs it with the preloaded library, which also lets it
accept connections over rings. It prints "listening", and then the address family and the port of each connection.
"""

import asyncio
import contextlib
import os
import select
import socket
import subprocess
import sys
import threading

HOST, PORT, WAY = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def echo(stream):
    with stream, contextlib.suppress(ConnectionError):
        stream.settimeout(None)
        while data := stream.recv(100_000):
            stream.sendall(data)


def report(stream, peer):
    assert stream.getpeername() == peer, (stream.getpeername(), peer)
    assert stream.getsockname()[1] == PORT, stream.getsockname()
    assert stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) in (0, 1)
    print("accepted", peer[0], flush=True)


def serve(stream, peer):
    report(stream, peer)
    threading.Thread(target=echo, args=(stream,), daemon=True).start()


def accept_all(listener):
    """Accepts every connection that is there; the listening socket is non-blocking."""
    with contextlib.suppress(BlockingIOError):
        while True:
            serve(*listener.accept())


def blocking(listener):
    while True:
        serve(*listener.accept())


def poll(listener):
    waiter = select.poll()
    waiter.register(listener, select.POLLIN)
    while True:
        assert waiter.poll() == [(listener.fileno(), select.POLLIN)]
        serve(*listener.accept())


def selecting(listener):
    while True:
        assert select.select([listener], [], []) == ([listener], [], [])
        serve(*listener.accept())


def epoll(listener, flags=0):
    listener.setblocking(False)
    waiter = select.epoll()
    waiter.register(listener, select.EPOLLIN | flags)
    while True:
        assert waiter.poll() == [(listener.fileno(), select.EPOLLIN)]
        if flags & select.EPOLLET:
            accept_all(listener)
        else:
            with contextlib.suppress(BlockingIOError):
                serve(*listener.accept())


def asynchronous(listener):
    async def talk(reader, writer):
        while data := await reader.read(100_000):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def run():
        server = await asyncio.start_server(talk, sock=listener)
        await server.serve_forever()

    asyncio.run(run())


def forking(listener):
    """Forks a process for each connection; the parent closes its descriptor of the connection."""
    while True:
        stream, peer = listener.accept()
        if os.fork() == 0:
            listener.close()
            report(stream, peer)
            echo(stream)
            os._exit(0)
        stream.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)


def prefork(listener):
    """Three processes accept; the parent only waits, after it has closed the listening socket."""
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            blocking(listener)
        children.append(child)
    listener.close()
    print(*children, flush=True)
    for child in children:
        os.waitpid(child, 0)


ECHO = """
import socket
stream = socket.socket(fileno=0)
while data := stream.recv(1000):
    stream.sendall(data)
"""


def inetd(listener):
    """Starts a program for each connection, with the connection as its standard input."""
    while True:
        stream, peer = listener.accept()
        report(stream, peer)
        select.select([stream], [], [])  # the client has spoken, so the connection is complete
        with contextlib.suppress(BlockingIOError):
            stream.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        with stream:
            subprocess.Popen([sys.executable, "-c", ECHO], stdin=stream)


WAYS = {"blocking": blocking, "poll": poll, "select": selecting, "epoll": epoll, "asyncio": asynchronous,
        "edge": lambda listener: epoll(listener, select.EPOLLET), "fork": forking,
        "prefork": prefork, "inetd": inetd}


def main():
    family = socket.AF_INET6 if ":" in HOST else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, PORT))
        listener.listen()
        assert listener.getsockname()[:2] == (HOST, PORT)
        assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
        print("listening", flush=True)
        WAYS[WAY](listener)


if __name__ == "__main__":
    main()
