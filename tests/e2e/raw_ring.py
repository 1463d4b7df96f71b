# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/raw_ring.py: one side of a ring, and Thrift calls, for hostile tests.

The code is written from docs/shm.md and Thrift's specification, and uses none of the project's code.
"""

import array
import contextlib
import fcntl
import mmap
import os
import select
import socket
import struct
import threading
import time

from nodes import wait_until

MAGIC = b"hatring\n"
CONTROL = 65536
CONNECTOR, ACCEPTOR = 128, 512  # offset of each side's cache lines in the shared memory
WRITTEN, ENDED, ORIGIN, CONSUMED, WAITS = 0, 8, 16, 128, 256
LONG = WRITTEN, ORIGIN, CONSUMED  # fields of 8 bytes; the others have 4
DATA, ROOM = 1, 2
HANG_S = 5.0  # how long a call through a hostile server may take


def greeting(magic=MAGIC, version=3, refusal=0, ring_bytes=0):
    return struct.pack("8sIIQQ", magic, version, refusal, ring_bytes, 0)


def request(method, fields=b"", seqid=1):
    """Returns a call in framed transport and binary protocol."""
    name = method.encode()
    body = struct.pack(f">Ii{len(name)}si", 0x80010001, len(name), name, seqid) + fields + b"\0"
    return struct.pack(">I", len(body)) + body


def i32s(*values):
    return b"".join(struct.pack(">bhi", 8, i + 1, value) for i, value in enumerate(values))


def blob(data):
    return struct.pack(">bhi", 11, 1, len(data)) + data


def add_reply(value, seqid=1):
    body = struct.pack(">Ii3si", 0x80010002, 3, b"add", seqid) + struct.pack(">bhi", 8, 0, value) + b"\0"
    return struct.pack(">I", len(body)) + body


class RawRing:
    """One side of a ring, whose memory the test reads and writes directly. A context manager."""

    def __init__(self, sock, mine, memory, version=3):
        self.sock = sock
        self.sock.settimeout(None)  # with a timeout, Python would wait before the call, in spite of MSG_DONTWAIT
        self.mine, self.theirs = mine, ACCEPTOR + CONNECTOR - mine
        size = os.fstat(memory).st_size
        self.ring_bytes = (size - CONTROL) // 2
        self.map = mmap.mmap(memory, size)
        os.close(memory)
        # Each load and store of a field is one instruction. struct.pack_into() would write zeros before the value, and
        # the daemon, which may look at any moment, would see a counter of 0 and close the connection.
        self.fields = {4: memoryview(self.map).cast("I"), 8: memoryview(self.map).cast("Q")}
        self.version = version
        self.sent = self.taken = self.origin = 0

    @classmethod
    def connect(cls, path, ring_bytes=65536, version=3):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(HANG_S)
        sock.connect(path)
        sock.sendall(greeting(version=version, ring_bytes=ring_bytes))
        said, descriptors, _, _ = socket.recv_fds(sock, 32, 1)
        assert said == greeting(version=version, ring_bytes=ring_bytes), said
        return cls(sock, CONNECTOR, descriptors[0], version)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()
        for view in self.fields.values():
            view.release()
        self.map.close()

    def get(self, side, what):
        size = 8 if what in LONG else 4
        return self.fields[size][(side + what) // size]

    def put(self, what, value):
        size = 8 if what in LONG else 4
        self.fields[size][(self.mine + what) // size] = value

    def bell(self):
        with contextlib.suppress(OSError):
            self.sock.send(b"!", socket.MSG_DONTWAIT)

    def store(self, what, value):
        self.put(what, value)
        self.bell()  # rings the doorbell even if the other side is awake

    def ring(self, side):
        return CONTROL + (0 if side == CONNECTOR else self.ring_bytes)

    def send(self, data, seconds=HANG_S):
        end = time.monotonic() + seconds
        while data and time.monotonic() < end:
            room = self.ring_bytes - (self.sent - self.get(self.theirs, CONSUMED))
            if room == self.ring_bytes and self.version >= 3:
                self.origin = self.sent
                self.put(ORIGIN, self.origin)
            at = (self.sent - self.origin) % self.ring_bytes
            part = data[:min(room, self.ring_bytes - at)]
            self.map[self.ring(self.mine) + at:self.ring(self.mine) + at + len(part)] = part
            self.sent += len(part)
            self.store(WRITTEN, self.sent)
            data = data[len(part):]
            if not part:
                time.sleep(0.001)
        return not data

    def receive(self, count, seconds=HANG_S):
        """Returns `count` bytes; fewer if the stream ends or `seconds` have passed."""
        data = b""
        end = time.monotonic() + seconds
        while len(data) < count and time.monotonic() < end:
            ended = self.get(self.theirs, ENDED) or self.gone()
            there = self.get(self.theirs, WRITTEN) - self.taken
            at = (self.taken - self.get(self.theirs, ORIGIN)) % self.ring_bytes
            part = self.map[self.ring(self.theirs) + at:][:min(there, self.ring_bytes - at, count - len(data))]
            data += part
            self.taken += len(part)
            self.store(CONSUMED, self.taken)
            if ended and not part:
                break
            if not part:
                time.sleep(0.001)
        return data

    def gone(self):
        """Returns whether the other side has closed the socket; reads and drops doorbell bytes."""
        try:
            return self.sock.recv(4096, socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except ConnectionError:
            return True

    def assert_dropped(self):
        wait_until("the daemon has closed the connection", self.gone, HANG_S)


def sealed_memory(ring_bytes=65536, size=None, seals=fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK):
    memory = os.memfd_create("rings_test", os.MFD_ALLOW_SEALING)
    os.ftruncate(memory, CONTROL + 2 * ring_bytes if size is None else size)
    if size is None:
        os.pwrite(memory, struct.pack("8sIIQ", MAGIC, 3, 0, ring_bytes), 0)
    fcntl.fcntl(memory, fcntl.F_ADD_SEALS, seals)
    return memory


def says(words, **memory):
    """Returns a hostile server's function that answers with `words` and, if `memory` is given, a memory descriptor."""
    def trick(connection, over):
        descriptors = [sealed_memory(**memory)] if memory else []
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        connection.sendmsg([words], rights if descriptors else [])
        for one in descriptors:
            os.close(one)
        over.wait(HANG_S)
    return trick


class HostileServer:
    """A server on rings that passes each accepted connection to the function `trick`. A context manager."""

    def __init__(self, path, trick):
        self.trick = trick
        self.listener = socket.socket(socket.AF_UNIX)
        self.path = path
        self.listener.bind(path)
        self.listener.listen()
        self.over = threading.Event()
        self.errors = []
        self.threads = [threading.Thread(target=self.accept)]

    def accept(self):
        while not self.over.is_set():
            if not select.select([self.listener], [], [], 0.05)[0]:
                continue
            connection, _ = self.listener.accept()
            self.threads.append(threading.Thread(target=self.play, args=[connection]))
            self.threads[-1].start()

    def play(self, connection):
        connection.settimeout(HANG_S)
        try:
            with connection:
                assert connection.recv(32, socket.MSG_WAITALL)[:16] == greeting()[:16]
                self.trick(connection, self.over)
        except OSError:
            pass  # the daemon has closed the connection, as it must
        except Exception as error:
            self.errors.append(error)

    def __enter__(self):
        self.threads[0].start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()
        self.listener.close()
        os.unlink(self.path)
        assert not self.errors, self.errors
