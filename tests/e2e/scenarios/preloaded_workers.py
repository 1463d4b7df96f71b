# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/preloaded_workers.py: a TCP server that shares its listening socket, or has hostile clients.

usage: preloaded_workers.py PORT NOBODY RING

The arguments are those of preloaded_listener.py.
"""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

from preloaded_listener import NOBODY, PORT, RING, Client, Talk, listening, unbound


class Forked:
    """A forked child that calls a function. The methods are those of subprocess.Popen."""

    def __init__(self, run, *words):
        self.child = os.fork()
        if self.child == 0:
            status = 1
            try:
                run(*words)
                status = 0
            finally:
                os._exit(status)

    def wait(self, timeout):
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            child, status = os.waitpid(self.child, os.WNOHANG)
            if child != 0:
                self.child = 0
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        raise TimeoutError("the forked child has not ended")

    def kill(self):
        if self.child != 0:
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)


class SharedSocket(Talk):
    """The TCP socket of a listening socket is shared with processes that know nothing of its ring."""

    CONNECTIONS = 300

    @staticmethod
    def accept_all(listener):
        """Says "tcp" to each connection, until a client answers "q".

        A process that listens at the path of the ring first connects to see whether another one listens there.
        """
        with listener:
            while True:
                with listener.accept()[0] as stream, contextlib.suppress(ConnectionError):
                    stream.sendall(b"tcp")
                    if stream.recv(1) == b"q":
                        return

    def connect(self, last=b"c"):
        with socket.create_connection(("127.0.0.1", PORT), timeout=30) as client:
            self.assertEqual(client.recv(3, socket.MSG_WAITALL), b"tcp")
            client.sendall(last)

    @contextlib.contextmanager
    def blocking(self):
        with unbound() as listener:
            listener.settimeout(None)
            listener.bind(("127.0.0.1", PORT))
            yield listener

    def check(self, listener, children):
        """Connects again and again, and ends all processes that accept at `listener`: this one has a thread."""
        thread = threading.Thread(target=self.accept_all, args=(listener,), daemon=True)
        thread.start()
        for _ in range(self.CONNECTIONS):
            self.connect()
        with socket.create_connection(("127.0.0.1", NOBODY), timeout=30) as client:
            self.assertEqual(client.recv(3, socket.MSG_WAITALL), b"tcp")
            client.sendall(b"q")
        thread.join(30)
        self.assertFalse(thread.is_alive())
        for _ in children:
            self.connect(b"q")
        for child in children:
            self.assertEqual(child.wait(30), 0)

    def test_a_duplicate_stays_blocking(self):
        with self.blocking() as listener, listener.dup() as other:
            listener.listen()
            self.talk(listener)
            self.assertTrue(os.get_blocking(other.fileno()))
            listener.setblocking(False)
            self.talk_when_ready(listener)
            self.assertTrue(os.get_blocking(other.fileno()))
            client = Client(PORT)
            other.accept()[0].close()
            client.connected().close()

    def talk_when_ready(self, listener):
        for port in (PORT, NOBODY):
            client = Client(port)
            self.assertEqual(select.select([listener], [], [], 10)[0], [listener])
            listener.accept()[0].close()
            client.connected().close()

    def program(self, listener, listens):
        """Starts a program with the socket. `listens` adds its call of listen(2)."""
        code = ("import socket, sys\nlistener = socket.socket(fileno=int(sys.argv[1]))\nlast = b''\n"
                f"{listens}\nwhile last != b'q':\n  with listener.accept()[0] as stream:\n"
                "    stream.sendall(b'tcp')\n    last = stream.recv(1)")
        program = subprocess.Popen([sys.executable, "-c", code, str(listener.fileno())],
                                   pass_fds=[listener.fileno()])
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        return program

    def test_workers_that_each_listen(self):
        """The children of this process are forked before it listens."""
        with self.blocking() as listener:
            ready, starts = os.pipe()
            children = [Forked(self.work, listener, ready) for _ in range(3)]
            for child in children:
                self.addCleanup(child.kill)
            listener.listen()
            os.write(starts, b"xxx")
            self.check(listener, children)
            os.close(ready)
            os.close(starts)

    def work(self, listener, ready):
        os.read(ready, 1)
        listener.listen()
        self.accept_all(listener)

    def test_programs_that_accept_at_the_same_time(self):
        with self.blocking() as listener:
            listener.listen()
            self.check(listener, [self.program(listener, "") for _ in range(2)])

    def test_a_program_that_listens_again(self):
        with self.blocking() as listener:
            listener.listen()
            self.check(listener, [self.program(listener, "listener.listen()")])


class Space(unittest.TestCase):
    """A server that waited for space, and then waits for data, as Thrift's TNonblockingServer does."""

    ROUNDS = 100
    REPLY = bytes(300_000)  # more than a ring holds

    def test_a_doorbell_for_space_is_no_data(self):
        with listening() as listener:
            reader = threading.Thread(target=self.read_all)
            reader.start()
            stream = listener.accept()[0]
            stream.setblocking(False)
            with stream, select.epoll() as epoll:
                epoll.register(stream, select.EPOLLOUT)
                for _ in range(self.ROUNDS):
                    self.send_all(epoll, stream)
                    epoll.modify(stream, select.EPOLLIN)
                    self.assertEqual(epoll.poll(0.01), [], "the client has sent nothing")
                    epoll.modify(stream, select.EPOLLOUT)
            reader.join()

    def send_all(self, epoll, stream):
        left = memoryview(self.REPLY)
        while left:
            epoll.poll(1)
            with contextlib.suppress(BlockingIOError):
                left = left[stream.send(left):]

    def read_all(self):
        with socket.create_connection(("127.0.0.1", NOBODY), timeout=30) as client:
            while client.recv(65536):
                pass


class OneThread(unittest.TestCase):
    """A server with one thread and an epoll, of which some clients do not take what the server sends."""

    CLIENTS = 50
    PIECE = bytes(100_000)

    def setUp(self):
        self.listener = self.enterContext(listening())
        self.streams = {}
        self.ends = threading.Event()
        thread = threading.Thread(target=self.serve)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.ends.set)

    def serve(self):
        """Sends a byte to each client. Then sends to a client that says "p", without an end, and echoes the rest."""
        with select.epoll() as epoll:
            self.listener.setblocking(False)
            epoll.register(self.listener, select.EPOLLIN)
            while not self.ends.is_set():
                for descriptor, events in epoll.poll(0.1):
                    if descriptor == self.listener.fileno():
                        self.admit(epoll)
                    elif events & select.EPOLLIN:
                        self.answer(epoll, descriptor)
                    elif events & select.EPOLLOUT:
                        self.send(self.streams[descriptor])
        for stream, _ in self.streams.values():
            stream.close()

    def admit(self, epoll):
        with contextlib.suppress(BlockingIOError):
            stream = self.listener.accept()[0]
            stream.setblocking(False)
            self.streams[stream.fileno()] = (stream, b"h")
            epoll.register(stream, select.EPOLLIN | (0 if self.send((stream, b"h")) else select.EPOLLOUT))

    def answer(self, epoll, descriptor):
        stream = self.streams[descriptor][0]
        with contextlib.suppress(BlockingIOError):
            data = stream.recv(100)
            if data in (b"", b"p"):
                self.streams[descriptor] = (stream, self.PIECE)
                epoll.modify(stream, select.EPOLLOUT if data else 0)
            else:
                self.send((stream, data))

    @staticmethod
    def send(stream):
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            return stream[0].send(stream[1])
        return 0

    def connect(self):
        stream = self.enterContext(socket.create_connection(("127.0.0.1", NOBODY), timeout=30))
        self.assertEqual(stream.recv(1), b"h")
        return stream

    def talk(self):
        """A wait of a millisecond for each of the other clients would make this take a second and more."""
        with self.connect() as live:
            begun = time.monotonic()
            for _ in range(20):
                live.sendall(b"e")
                self.assertEqual(live.recv(1), b"e")
            self.assertLess(time.monotonic() - begun, 0.6)

    def test_clients_that_do_not_read(self):
        for _ in range(self.CLIENTS):
            self.connect().sendall(b"p")
        self.talk()

    def test_clients_that_do_not_greet(self):
        for _ in range(self.CLIENTS):
            self.enterContext(socket.socket(socket.AF_UNIX)).connect(RING)
        self.talk()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
