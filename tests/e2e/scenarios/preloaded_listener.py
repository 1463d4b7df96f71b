# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/preloaded_listener.py: a TCP server that uses every function of listening sockets.

usage: preloaded_listener.py PORT NOBODY RING

The program listens at 127.0.0.1:PORT, and is its own client: over TCP at PORT, and, with the preloaded library, over
the ring at the path RING, which the library uses for connections to 127.0.0.1:NOBODY. preload_server_test.py runs it.
"""

import array
import contextlib
import ctypes
import errno
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PORT, NOBODY, RING = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]


def unbound():
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.settimeout(30)
    return listener


def listening():
    listener = unbound()
    listener.bind(("127.0.0.1", PORT))
    listener.listen()
    return listener


class Client:
    """Connects in a thread of its own, because a connection over a ring is complete only after accept(2)."""

    def __init__(self, port):
        self.thread = threading.Thread(target=self.connect, args=(port,))
        self.thread.start()

    def connect(self, port):
        self.stream = socket.create_connection(("127.0.0.1", port), timeout=30)

    def connected(self):
        self.thread.join()
        return self.stream


def accept_in_a_thread(listener):
    """Returns a thread that sleeps in accept(2), and a list to which it adds the errno value with which accept ends."""
    listener.settimeout(None)
    ended = []

    def wait():
        try:
            listener.accept()
        except OSError as error:
            ended.append(error.errno)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.2)
    return thread, ended


def is_unix(descriptor):
    inode = str(os.stat(descriptor).st_ino)
    with open("/proc/net/unix", encoding="utf-8") as sockets:
        return any(inode in line.split() for line in sockets)


def descriptors():
    return len(os.listdir("/proc/self/fd"))


class Talk(unittest.TestCase):
    def talk(self, listener, ports=(PORT, NOBODY)):
        """Checks that `listener` accepts connections to each of the ports, and that they carry data."""
        for port in ports:
            client = Client(port)
            with listener.accept()[0] as stream:
                stream.settimeout(30)
                with client.connected() as asker:
                    asker.sendall(b"question")
                    self.assertEqual(stream.recv(8, socket.MSG_WAITALL), b"question")
                    asker.shutdown(socket.SHUT_WR)
                    self.assertEqual(stream.recv(1), b"")
                    stream.sendall(b"answer")
                    self.assertEqual(asker.recv(6, socket.MSG_WAITALL), b"answer")


class Listening(Talk):
    def test_accepts_both(self):
        with listening() as listener:
            self.talk(listener, (PORT, NOBODY) * 3)
        self.assertFalse(os.path.exists(RING), "closing the listening socket removes the ring's path")
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", PORT))

    def test_nothing_to_accept(self):
        with listening() as listener:
            listener.setblocking(False)
            with self.assertRaises(BlockingIOError):
                listener.accept()
            listener.settimeout(0.1)
            with self.assertRaises(TimeoutError):
                listener.accept()
            listener.settimeout(None)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 100_000))
            begun = time.monotonic()
            with self.assertRaises(BlockingIOError):
                listener.accept()
            self.assertGreater(time.monotonic() - begun, 0.09)

    def test_many_of_one_kind_do_not_hold_up_the_other(self):
        with listening() as listener, contextlib.ExitStack() as ends:
            listener.settimeout(30)
            for _ in range(10):
                for family, address in ((socket.AF_INET, ("127.0.0.1", PORT)), (socket.AF_UNIX, RING)):
                    ends.enter_context(socket.socket(family)).connect(address)
            kinds = []
            for _ in range(10):
                stream = ends.enter_context(listener.accept()[0])
                kinds.append("ring" if is_unix(stream.fileno()) else "tcp")
            self.assertEqual(sorted(kinds), ["ring"] * 5 + ["tcp"] * 5)

    def test_numbers_and_descriptors_are_used_again(self):
        with listening() as listener:
            self.talk(listener)
        before = descriptors()
        for _ in range(30):
            with listening() as listener:
                self.talk(listener)
        self.assertEqual(descriptors(), before)

    def test_a_second_socket_for_the_same_ring(self):
        """A socket at [::] beside the one at 127.0.0.1; the library says nothing on standard error."""
        with tempfile.TemporaryFile() as said, listening() as listener, socket.socket(socket.AF_INET6) as six:
            six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            six.bind(("::", PORT))
            kept = os.dup(2)
            os.dup2(said.fileno(), 2)
            six.listen()
            os.dup2(kept, 2)
            os.close(kept)
            said.seek(0)
            self.assertEqual(said.read(), b"")
            self.talk(listener)

    def test_accept_by_the_function_syscall(self):
        call = ctypes.CDLL(None).syscall
        numbers = {"x86_64": (43, 288), "aarch64": (202, 242)}[os.uname().machine]  # accept, accept4
        with listening() as listener:
            listener.settimeout(None)
            for number in numbers:
                for port in (PORT, NOBODY):
                    client = Client(port)
                    with socket.socket(fileno=call(number, listener.fileno(), None, None, 0)) as stream:
                        self.assertEqual(stream.getpeername()[0], "127.0.0.1")
                    client.connected().close()

    def test_listens_twice(self):
        with listening() as listener:
            listener.listen(5)
            self.talk(listener)

    def test_duplicates_are_one_socket(self):
        listener = listening()
        other = listener.dup()
        listener.close()
        self.talk(other)
        other.close()
        self.assertFalse(os.path.exists(RING))

    def test_replaced_by_a_file(self):
        with listening() as listener, open("/dev/null", "rb") as file:
            os.dup2(file.fileno(), listener.fileno())
            self.assertFalse(os.path.exists(RING))
            with self.assertRaises(OSError) as caught:
                listener.accept()
            self.assertEqual(caught.exception.errno, errno.ENOTSOCK)

    def test_shutdown_wakes_accept(self):
        with listening() as listener:
            thread, ended = accept_in_a_thread(listener)
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(30)
            self.assertEqual(ended, [errno.EINVAL])

    def test_listens_again_after_shutdown(self):
        with listening() as listener:
            listener.shutdown(socket.SHUT_RDWR)
            listener.listen()
            self.assertEqual(select.select([listener], [], [], 0.1)[0], [])
            self.talk(listener, [PORT])

    def test_accept_ends_when_its_number_is_replaced(self):
        """Closes the socket as the JVM does: dup2() replaces it by another file, and a signal wakes the thread."""
        with listening() as listener, open("/dev/null", "rb") as file:
            before = signal.signal(signal.SIGUSR1, lambda *_: None)
            thread, ended = accept_in_a_thread(listener)
            os.dup2(file.fileno(), listener.fileno())
            signal.pthread_kill(thread.ident, signal.SIGUSR1)
            thread.join(30)
            signal.signal(signal.SIGUSR1, before)
            self.assertEqual(ended, [errno.ENOTSOCK])

    def test_in_an_epoll_before_it_listens(self):
        for flags in (0, select.EPOLLET, select.EPOLLEXCLUSIVE):
            with unbound() as listener, select.epoll() as epoll:
                listener.bind(("127.0.0.1", PORT))
                epoll.register(listener, select.EPOLLIN | flags)
                listener.listen()
                while epoll.poll(0):
                    pass
                for port in (NOBODY, PORT):
                    client = Client(port)
                    self.assertEqual(epoll.poll(5), [(listener.fileno(), select.EPOLLIN)])
                    listener.accept()[0].close()
                    client.connected().close()

    def test_exclusive_epoll(self):
        with listening() as listener, select.epoll() as epoll:
            epoll.register(listener, select.EPOLLIN | select.EPOLLEXCLUSIVE)
            client = Client(NOBODY)
            self.assertEqual(epoll.poll(5), [(listener.fileno(), select.EPOLLIN)])
            listener.accept()[0].close()
            client.connected().close()

    def test_edge_reports_each_connection(self):
        with listening() as listener, select.epoll() as epoll:
            listener.setblocking(False)
            epoll.register(listener, select.EPOLLIN | select.EPOLLET)
            for port in (NOBODY, NOBODY, PORT, NOBODY):
                client = Client(port)
                self.assertEqual(epoll.poll(5), [(listener.fileno(), select.EPOLLIN)])
                listener.accept()[0].close()
                with self.assertRaises(BlockingIOError):
                    listener.accept()
                self.assertEqual(epoll.poll(0.02), [])
                client.connected().close()

    def test_forked_children_accept_in_turn(self):
        with listening() as listener:
            for _ in range(2):
                child = os.fork()
                if child == 0:
                    status = 1
                    try:
                        self.talk(listener)
                        status = 0
                    finally:
                        os._exit(status)
                self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
                self.talk(listener)

    def test_an_executed_program_accepts_over_tcp(self):
        code = ("import socket, sys; listener = socket.socket(fileno=int(sys.argv[1])); listener.settimeout(30);"
                "stream = listener.accept()[0]; stream.sendall(b'new program')")
        with listening() as listener:
            with subprocess.Popen([sys.executable, "-c", code, str(listener.fileno())],
                                  pass_fds=[listener.fileno()]) as program:
                with Client(PORT).connected() as client:
                    self.assertEqual(client.recv(11, socket.MSG_WAITALL), b"new program")
                self.assertEqual(program.wait(30), 0)
            self.talk(listener)

    def test_an_executed_program_gets_the_socket_as_its_standard_input(self):
        """The child of a vfork duplicates the socket to another number, and the original is closed by the exec."""
        code = ("import socket; listener = socket.socket(fileno=0); listener.settimeout(30);"
                "stream = listener.accept()[0]; stream.sendall(b'new program')")
        with listening() as listener:
            self.assertFalse(os.get_inheritable(listener.fileno()))
            with subprocess.Popen([sys.executable, "-c", code], stdin=listener) as program:
                with Client(PORT).connected() as client:
                    self.assertEqual(client.recv(11, socket.MSG_WAITALL), b"new program")
                self.assertEqual(program.wait(30), 0)
            self.talk(listener)

    def test_another_program_keeps_its_standard_input(self):
        """The descriptor of the listening socket is 0, which is another file in the child."""
        kept = os.dup(0)
        os.close(0)
        try:
            with listening() as listener:
                self.assertEqual(listener.fileno(), 0)
                done = subprocess.run(["cat"], input=b"words", stdout=subprocess.PIPE, check=True, timeout=20)
                self.assertEqual(done.stdout, b"words")
                self.talk(listener)
        finally:
            os.dup2(kept, 0)
            os.close(kept)

    def test_a_failed_exec_changes_nothing(self):
        with listening() as listener:
            os.set_inheritable(listener.fileno(), True)
            with self.assertRaises(FileNotFoundError):
                os.execv("/not/there", ["x"])
            self.talk(listener)

    def test_a_process_that_receives_the_socket_accepts_over_tcp(self):
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                ours.close()
                _, control, _, _ = theirs.recvmsg(1, socket.CMSG_LEN(4))
                listener = socket.socket(fileno=array.array("i", control[0][2])[0])
                listener.settimeout(30)
                with listener.accept()[0] as stream:
                    stream.sendall(b"received")
                status = 0
            finally:
                os._exit(status)
        theirs.close()
        with listening() as listener:
            rights = array.array("i", [listener.fileno()])
            ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            with Client(PORT).connected() as client:
                self.assertEqual(client.recv(8, socket.MSG_WAITALL), b"received")
            self.talk(listener)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        ours.close()


class Greeting(unittest.TestCase):
    """Clients whose handshake is not complete when the program accepts them."""

    WHOLE = struct.pack("8sIIQQ", b"hatring\n", 2, 0, 0, 0)

    def setUp(self):
        self.listener = self.enterContext(listening())
        self.client = self.enterContext(socket.socket(socket.AF_UNIX))
        self.client.settimeout(30)
        self.client.connect(RING)
        self.stream = self.enterContext(self.listener.accept()[0])
        self.stream.settimeout(30)

    def test_a_slow_greeting(self):
        self.assertEqual(self.stream.getpeername()[0], "127.0.0.1")
        poll = select.poll()
        poll.register(self.stream, select.POLLIN)
        for byte in self.WHOLE[:-1]:
            self.assertEqual(poll.poll(0), [])
            self.client.sendall(bytes([byte]))
        self.assertEqual(poll.poll(50), [])
        self.client.sendall(self.WHOLE[-1:])
        self.assertEqual(poll.poll(50), [])
        self.assertEqual(self.client.recv(32, socket.MSG_WAITALL)[:8], b"hatring\n")

    def test_a_reader_waits_for_the_greeting(self):
        self.stream.setblocking(False)
        with self.assertRaises(BlockingIOError):
            self.stream.recv(1)
        self.stream.settimeout(None)
        came = []
        thread = threading.Thread(target=lambda: came.append(self.stream.recv(1)))
        thread.start()
        self.client.sendall(self.WHOLE[:9])
        time.sleep(0.05)
        self.client.sendall(self.WHOLE[9:])
        self.client.recv(32, socket.MSG_WAITALL)
        self.client.close()
        thread.join(30)
        self.assertEqual(came, [b""])

    def test_a_client_that_leaves(self):
        self.client.close()
        self.assertEqual(select.select([self.stream], [], [], 5)[0], [self.stream])
        self.assertEqual(self.stream.recv(1), b"")
        with self.assertRaises(BrokenPipeError):
            self.stream.send(b"x")

    def test_garbage(self):
        self.client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with self.assertRaises(ConnectionResetError):
            self.stream.recv(1)
        # If the server has not read all bytes, the client's socket is reset.
        with contextlib.suppress(ConnectionResetError):
            self.assertEqual(self.client.recv(1), b"")

    def test_a_writer_waits_for_a_bounded_time(self):
        self.stream.setblocking(False)
        with self.assertRaises(BlockingIOError):
            self.stream.send(b"x")
        self.stream.settimeout(None)
        begun = time.monotonic()
        with self.assertRaises(BlockingIOError):
            self.stream.send(b"x")
        self.assertTrue(1.5 < time.monotonic() - begun < 5)

    def test_an_edge_for_the_greeting_and_one_for_data(self):
        self.stream.setblocking(False)
        with select.epoll() as epoll:
            epoll.register(self.stream, select.EPOLLIN | select.EPOLLET)
            self.assertEqual(epoll.poll(0.05), [])
            self.client.sendall(self.WHOLE)
            self.assertEqual(epoll.poll(5), [(self.stream.fileno(), select.EPOLLIN)])
            with self.assertRaises(BlockingIOError):
                self.stream.recv(1)
            self.client.recv(32, socket.MSG_WAITALL)
            self.client.close()
            self.assertTrue(epoll.poll(5))
            self.assertEqual(self.stream.recv(1), b"")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
