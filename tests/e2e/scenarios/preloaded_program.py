# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/preloaded_program.py: a TCP client of an echo server that uses every socket function.

usage: preloaded_program.py HOST PORT [TEST...]

The program itself does not use rings. preload_test.py runs it with the preloaded library, which moves its connections
to rings.
"""

import array
import asyncio
import contextlib
import errno
import fcntl
import mmap
import os
import select
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

HOST, PORT = sys.argv[1], int(sys.argv[2])


def connect(timeout=30):
    stream = socket.create_connection((HOST, PORT), timeout=30)
    stream.settimeout(timeout)
    return stream


def unconnected():
    return socket.socket(socket.getaddrinfo(HOST, PORT)[0][0])


def receive(stream, count):
    pieces = []
    while count:
        piece = stream.recv(count)
        assert piece, f"ended {count} bytes early"
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


class Blocking(unittest.TestCase):
    def test_echo(self):
        for timeout in (None, 10):
            with connect(timeout) as stream:
                for size in (1, 10, 4096, 100_000):
                    data = os.urandom(size)
                    stream.sendall(data)
                    self.assertEqual(receive(stream, size), data)

    def test_what_the_socket_says_of_itself(self):
        with connect() as stream:
            self.assertEqual(stream.getpeername()[:2], (HOST, PORT))
            self.assertEqual(stream.getsockname()[0], HOST)
            self.assertEqual(stream.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN), stream.family)
            self.assertEqual(stream.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL),
                             socket.IPPROTO_TCP)
            self.assertEqual(stream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)
            self.assertEqual(stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), 0)
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.assertEqual(stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), 1)
            self.assertEqual(stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1), b"\x01")

    def test_connected_once(self):
        with unconnected() as stream:
            stream.connect((HOST, PORT))
            with self.assertRaises(OSError) as caught:
                stream.connect((HOST, PORT))
            self.assertEqual(caught.exception.errno, errno.EISCONN)

    def test_half_close(self):
        with connect() as stream:
            data = os.urandom(50_000)
            stream.sendall(data)
            stream.shutdown(socket.SHUT_WR)
            self.assertEqual(receive(stream, len(data)), data)
            self.assertEqual(stream.recv(1), b"")
            self.assertEqual(stream.recv(1), b"")
            with self.assertRaises(BrokenPipeError):
                stream.send(b"x")

    def test_shut_reads_are_at_an_end(self):
        with connect(None) as stream:
            ended = []
            thread = threading.Thread(target=lambda: ended.append(stream.recv(1)))
            thread.start()
            time.sleep(0.2)
            stream.shutdown(socket.SHUT_RDWR)
            thread.join(30)
            self.assertEqual(ended, [b""])

    def test_peek_and_how_much_is_there(self):
        with connect(None) as stream:
            stream.sendall(b"hello, world")
            while len(stream.recv(100, socket.MSG_PEEK)) < 12:
                time.sleep(0.01)
            self.assertEqual(stream.recv(5, socket.MSG_PEEK), b"hello")
            there = array.array("i", [0])
            fcntl.ioctl(stream, termios.FIONREAD, there)
            self.assertEqual(there[0], 12)
            self.assertEqual(stream.recv(100), b"hello, world")
            with self.assertRaises(BlockingIOError):
                stream.recv(1, socket.MSG_DONTWAIT)

    def test_wait_all(self):
        with connect(None) as stream:
            def trickle():
                for byte in b"abcdef":
                    stream.send(bytes([byte]))
                    time.sleep(0.02)
            thread = threading.Thread(target=trickle)
            thread.start()
            self.assertEqual(stream.recv(6, socket.MSG_WAITALL), b"abcdef")
            thread.join()

    def test_receive_time_out(self):
        with connect(None) as stream:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 200_000))
            for _ in range(2):
                begun = time.monotonic()
                with self.assertRaises(BlockingIOError):
                    stream.recv(1)
                self.assertTrue(0.15 < time.monotonic() - begun < 2)
                stream.sendall(b"x")
                self.assertEqual(stream.recv(1), b"x")

    def test_time_out_set_before_connecting(self):
        with unconnected() as stream:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 200_000))
            stream.connect((HOST, PORT))
            with self.assertRaises(BlockingIOError):
                stream.recv(1)

    def test_python_time_out(self):
        with connect(0.2) as stream:
            for _ in range(2):
                with self.assertRaises(TimeoutError):
                    stream.recv(1)
                stream.sendall(b"x")
                self.assertEqual(stream.recv(1), b"x")

    def test_a_full_ring_times_out(self):
        with connect(None) as stream:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 300_000))
            with self.assertRaises(BlockingIOError):
                while True:
                    stream.send(bytes(1 << 20))

    def test_scattered(self):
        with connect() as stream:
            self.assertEqual(os.writev(stream.fileno(), [b"ab", b"", b"cde"]), 5)
            self.assertEqual(receive(stream, 5), b"abcde")
            stream.sendmsg([b"12", b"345"])
            while len(stream.recv(9, socket.MSG_PEEK)) < 5:
                time.sleep(0.01)
            into = [bytearray(2), bytearray(9)]
            count, control, flags, _ = stream.recvmsg_into(into)
            self.assertEqual((count, control, flags, bytes(into[0])), (5, [], 0, b"12"))

    def test_send_file(self):
        data = os.urandom(300_000)
        with tempfile.TemporaryFile() as file, connect() as stream:
            file.write(data)
            file.flush()
            came = []
            thread = threading.Thread(target=lambda: came.append(receive(stream, 200_000)))
            thread.start()
            sent = 0
            stream.setblocking(True)
            while sent < 200_000:
                sent += os.sendfile(stream.fileno(), file.fileno(), 50_000 + sent, 200_000 - sent)
            thread.join()
            self.assertEqual(came, [data[50_000:250_000]])

    def test_big_both_ways(self):
        data = os.urandom(8 << 20)
        with connect() as stream:
            thread = threading.Thread(target=stream.sendall, args=(data,))
            thread.start()
            self.assertEqual(receive(stream, len(data)), data)
            thread.join()

    def test_a_signal_interrupts(self):
        class Rang(Exception):
            pass

        def ring(*_):
            raise Rang

        before = signal.signal(signal.SIGALRM, ring)
        try:
            with connect(None) as stream, self.assertRaises(Rang):
                signal.setitimer(signal.ITIMER_REAL, 0.2)
                stream.recv(1)
        finally:
            signal.signal(signal.SIGALRM, before)


class Descriptors(unittest.TestCase):
    def test_duplicates_are_one_connection(self):
        stream = connect()
        other = socket.socket(fileno=os.dup(stream.fileno()))
        other.settimeout(30)
        stream.sendall(b"ab")
        self.assertEqual(other.recv(1), b"a")
        stream.close()
        self.assertEqual(other.recv(1), b"b")
        other.sendall(b"c")
        self.assertEqual(other.recv(1), b"c")
        other.close()

    def test_replaced_by_a_file(self):
        with connect() as stream, tempfile.TemporaryFile() as file:
            file.write(b"file")
            file.seek(0)
            os.dup2(file.fileno(), stream.fileno())
            self.assertEqual(os.read(stream.fileno(), 9), b"file")

    def test_takes_the_place_of_a_file(self):
        with connect() as stream:
            file = os.open("/dev/null", os.O_WRONLY)
            os.dup2(stream.fileno(), file)
            os.write(file, b"x")
            self.assertEqual(stream.recv(1), b"x")
            os.close(file)

    def test_numbers_are_used_again(self):
        for _ in range(300):
            with connect() as stream:
                stream.sendall(b"x")
                self.assertEqual(stream.recv(1), b"x")
            with open("/dev/null", "rb") as file:
                self.assertEqual(file.read(), b"")
        self.assertLess(len(os.listdir("/proc/self/fd")), 20)

    def test_a_reader_wakes_when_its_number_is_replaced(self):
        """Closes a socket as the JVM does: dup2() replaces it by an ended socket, and a signal wakes the reader."""
        with connect(None) as stream:
            a, b = socket.socketpair()
            b.close()
            came = []
            thread = threading.Thread(target=lambda: came.append(os.read(stream.fileno(), 1)))
            thread.start()
            time.sleep(0.2)
            before = signal.signal(signal.SIGUSR1, lambda *_: None)
            signal.siginterrupt(signal.SIGUSR1, True)
            os.dup2(a.fileno(), stream.fileno())
            signal.pthread_kill(thread.ident, signal.SIGUSR1)
            thread.join(30)
            signal.signal(signal.SIGUSR1, before)
            self.assertEqual(came, [b""])
            a.close()

    def test_whoever_closes_everything(self):
        with connect() as stream:
            fd = stream.detach()
            kept = os.dup(2)
            os.closerange(3, 2000)
            os.dup2(2, kept) if kept < 3 else None
            with self.assertRaises(OSError):
                os.read(fd, 1)
        with connect() as stream:
            stream.sendall(b"x")
            self.assertEqual(stream.recv(1), b"x")


class Waiting(unittest.TestCase):
    def test_poll(self):
        with connect() as stream:
            poll = select.poll()
            poll.register(stream, select.POLLIN | select.POLLOUT)
            self.assertEqual(poll.poll(1000), [(stream.fileno(), select.POLLOUT)])
            poll.register(stream, select.POLLIN)
            for _ in range(3):
                begun = time.monotonic()
                self.assertEqual(poll.poll(0), [])
                self.assertEqual(poll.poll(150), [])
                self.assertTrue(0.1 < time.monotonic() - begun < 2)
                stream.sendall(b"xy")
                for expected in (b"x", b"y"):
                    self.assertEqual(poll.poll(5000), [(stream.fileno(), select.POLLIN)])
                    self.assertEqual(receive(stream, 1), expected)

    def test_poll_of_a_ring_and_a_pipe(self):
        out, into = os.pipe()
        with connect() as stream:
            poll = select.poll()
            poll.register(stream, select.POLLIN)
            poll.register(out, select.POLLIN)
            threading.Timer(0.1, lambda: os.write(into, b"p")).start()
            self.assertEqual(poll.poll(5000), [(out, select.POLLIN)])
            stream.sendall(b"x")
            self.assertEqual(receive(stream, 1), b"x")
            self.assertEqual(poll.poll(5000), [(out, select.POLLIN)])
        os.close(out)
        os.close(into)

    def test_select(self):
        with connect() as stream:
            self.assertEqual(select.select([stream], [stream], [], 1), ([], [stream], []))
            self.assertEqual(select.select([stream], [], [], 0.1), ([], [], []))
            stream.sendall(b"x")
            self.assertEqual(select.select([stream], [], [stream], 5), ([stream], [], []))
            receive(stream, 1)
            stream.shutdown(socket.SHUT_WR)
            self.assertEqual(select.select([stream], [], [], 5), ([stream], [], []))
            self.assertEqual(stream.recv(1), b"")

    def test_polling_until_there_is_room(self):
        with connect(0) as stream:
            poll = select.poll()
            poll.register(stream, select.POLLOUT)
            sent = 0
            with contextlib.suppress(BlockingIOError):
                while True:
                    sent += stream.send(bytes(100_000))
            stream.settimeout(30)
            receive(stream, sent)
            self.assertEqual(poll.poll(5000), [(stream.fileno(), select.POLLOUT)])

    def epoll_echo(self, flags, before_connect):
        with unconnected() as stream, select.epoll() as epoll:
            stream.setblocking(False)
            if before_connect:
                epoll.register(stream, select.EPOLLIN | flags)
            with contextlib.suppress(BlockingIOError):
                stream.connect((HOST, PORT))
            if not before_connect:
                epoll.register(stream, select.EPOLLIN | flags)
            select.select([], [stream], [], 5)
            while epoll.poll(0.05):  # discard the events that the connect has caused
                with self.assertRaises(BlockingIOError):
                    stream.recv(1)
            for i in range(200):
                stream.send(b"%04d" % i)
                came = b""
                while len(came) < 4:
                    events = epoll.poll(5)
                    self.assertTrue(events, f"no event in round {i}")
                    with contextlib.suppress(BlockingIOError):
                        while True:
                            came += stream.recv(3)
                self.assertEqual(came, b"%04d" % i)
            self.assertEqual(epoll.poll(0.1), [])
            stream.shutdown(socket.SHUT_WR)
            self.assertTrue(epoll.poll(5))
            self.assertEqual(stream.recv(1), b"")

    def test_epoll_level(self):
        for before_connect in (False, True):
            self.epoll_echo(0, before_connect)

    def test_epoll_edge(self):
        for before_connect in (False, True):
            self.epoll_echo(select.EPOLLET, before_connect)

    def test_level_stays_until_all_is_read(self):
        with connect() as stream, select.epoll() as epoll:
            epoll.register(stream, select.EPOLLIN)
            stream.sendall(b"abc")
            while len(stream.recv(3, socket.MSG_PEEK)) < 3:
                time.sleep(0.01)
            for byte in (b"a", b"b", b"c"):
                self.assertEqual(epoll.poll(5), [(stream.fileno(), select.EPOLLIN)])
                self.assertEqual(stream.recv(1), byte)
            self.assertEqual(epoll.poll(0.1), [])

    def test_put_into_an_epoll_with_data_there(self):
        with connect() as stream:
            for _ in range(3):  # use the socket before it is added to the epoll instance
                stream.sendall(b"abc")
                receive(stream, 3)
            stream.sendall(b"abc")
            while len(stream.recv(3, socket.MSG_PEEK)) < 3:
                time.sleep(0.01)
            with select.epoll() as epoll:
                epoll.register(stream, select.EPOLLIN)
                self.assertTrue(epoll.poll(5))
                receive(stream, 3)
                self.assertEqual(epoll.poll(0.1), [])

    def flood(self, flags, total=6 << 20):
        """Sends and receives, in one thread, more bytes than the buffers of both directions hold."""
        with connect(0) as stream, select.epoll() as epoll:
            events = select.EPOLLIN | select.EPOLLOUT | flags
            epoll.register(stream, events)
            data = os.urandom(1 << 20) * (total >> 20)
            sent, came = 0, []
            left = total
            while left:
                ready = epoll.poll(10)
                self.assertTrue(ready, f"no event: {sent} bytes sent, {left} not received yet")
                with contextlib.suppress(BlockingIOError):
                    while sent < total:
                        sent += stream.send(data[sent:sent + 300_000])
                with contextlib.suppress(BlockingIOError):
                    while left:
                        came.append(stream.recv(200_000))
                        left -= len(came[-1])
                if sent == total and not flags:
                    epoll.modify(stream, select.EPOLLIN)
            self.assertEqual(b"".join(came), data)

    def test_flood_level(self):
        self.flood(0)

    def test_flood_edge(self):
        self.flood(select.EPOLLET)

    def test_selectors(self):
        for kind in (selectors.PollSelector, selectors.SelectSelector, selectors.EpollSelector):
            with kind() as selector, connect() as one, connect() as two:
                selector.register(one, selectors.EVENT_READ)
                selector.register(two, selectors.EVENT_READ)
                for stream in (one, two, one):
                    stream.sendall(b"x")
                    self.assertEqual([key.fileobj for key, _ in selector.select(5)], [stream])
                    self.assertEqual(stream.recv(9), b"x")
                    self.assertEqual(selector.select(0), [])

    def test_asyncio(self):
        async def talk(index):
            reader, writer = await asyncio.open_connection(HOST, PORT)
            for size in (1, 100, 70_000, 1_000_000):
                data = bytes([index]) * size
                writer.write(data)
                assert await reader.readexactly(size) == data
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()

        async def all_of_them():
            await asyncio.wait_for(asyncio.gather(*(talk(i) for i in range(20))), 30)

        asyncio.run(all_of_them())


CHILD = """
import socket, sys
stream = socket.socket(fileno=int(sys.argv[1]))
stream.sendall(b'child')
assert stream.recv(5, socket.MSG_WAITALL) == b'child'
print(stream.getpeername()[1])
"""


class Processes(unittest.TestCase):
    def talk(self, stream, words):
        stream.sendall(words)
        self.assertEqual(receive(stream, len(words)), words)

    def test_fork_the_child_serves_on(self):
        with connect() as stream:
            self.talk(stream, b"parent")
            child = os.fork()
            if child == 0:
                try:
                    self.talk(stream, b"child")
                    stream.close()
                finally:
                    os._exit(0 if sys.exc_info()[0] is None else 1)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            self.talk(stream, b"parent again")

    def test_fork_in_turns_with_epoll(self):
        with connect(0) as stream, select.epoll() as epoll:
            epoll.register(stream, select.EPOLLIN)

            def talk(words):
                stream.send(words)
                came = b""
                while len(came) < len(words):
                    assert epoll.poll(5), came
                    with contextlib.suppress(BlockingIOError):
                        came += stream.recv(1000)
                assert came == words, came

            for turn in range(5):
                talk(b"parent %d" % turn * 300)  # in all more than a page, after which rings are rewound
                child = os.fork()
                if child == 0:
                    status = 1
                    try:
                        for i in range(10):
                            talk(b"child %d" % i * 300)
                        status = 0
                    finally:
                        os._exit(status)
                self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            self.assertEqual(epoll.poll(0.1), [])

    def test_fork_and_exec(self):
        with connect(None) as stream:
            self.talk(stream, bytes(4096))
            self.talk(stream, b"parent")  # in a ring that was rewound
            done = subprocess.run([sys.executable, "-c", CHILD, str(stream.fileno())],
                                  pass_fds=[stream.fileno()], capture_output=True, check=False,
                                  timeout=20)
            self.assertEqual((done.returncode, done.stdout), (0, b"%d\n" % PORT), done.stderr)
            self.talk(stream, b"parent again")

    def test_as_standard_input_of_another_program(self):
        with connect(None) as stream:
            done = subprocess.run([sys.executable, "-c", CHILD, "0"], stdin=stream.fileno(),
                                  capture_output=True, check=False, timeout=20)
            self.assertEqual((done.returncode, done.stdout), (0, b"%d\n" % PORT), done.stderr)

    def test_other_programs_close_nothing(self):
        with connect() as stream:
            subprocess.run(["/bin/true"], check=True)
            self.talk(stream, b"still there")
            subprocess.run(["/bin/sh", "-c", "exec /bin/true"], check=True, close_fds=False)
            self.talk(stream, b"still there")


class Memory(unittest.TestCase):
    def test_straight_into_a_mapping(self):
        with connect() as stream, mmap.mmap(-1, 4096) as memory:
            stream.sendall(b"mapped")
            stream.recv_into(memory, 6, socket.MSG_WAITALL)
            self.assertEqual(memory[:6], b"mapped")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
