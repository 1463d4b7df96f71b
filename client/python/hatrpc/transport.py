# SPDX-License-Identifier: Apache-2.0
"""hatrpc/transport.py: implements the transport interface of Thrift over rings in shared memory."""

import contextlib
import errno
import fcntl
import os
import socket
import stat
import time

from thrift.transport.TTransport import (TServerTransportBase, TTransportBase,
                                         TTransportException)

from hatrpc import _ring

# The timeout of the module _ring that means no timeout. Other timeouts are in milliseconds.
_FOREVER = -1
_LOCK_WAIT_S = 1.0


def _path(address):
    """Returns `address` without the prefix 'shm:', which addresses in hatrpcd's configuration have."""
    return address[4:] if address.startswith('shm:') else address


def _failed(what, error):
    kinds = {errno.EAGAIN: TTransportException.TIMED_OUT,
             errno.EPIPE: TTransportException.END_OF_FILE,
             errno.ECONNRESET: TTransportException.END_OF_FILE}
    return TTransportException(kinds.get(error.errno, TTransportException.NOT_OPEN),
                               '%s: %s' % (what, error.strerror), inner=error)


def _is_stale(path):
    """Returns True if the path is a socket that refuses connections. Checks the type of the file first,
    because a connection to a file that is not a socket is also refused."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return False
        with socket.socket(socket.AF_UNIX) as probe:
            probe.setblocking(False)  # because the server's queue of connections can be full
            probe.connect(path)
    except ConnectionRefusedError:
        return True
    except OSError:
        pass
    return False


@contextlib.contextmanager
def _claimed(path):
    """Removes a socket that a killed server has left at the path. Within the context, which must include
    bind() and listen(), other servers cannot remove the path. Uses the same lock as PathClaim in
    client/ring/path_claim.h."""
    folder = None
    try:
        folder = os.open(os.path.dirname(path) or '.', os.O_RDONLY | os.O_DIRECTORY)
        if _locked(folder) and _is_stale(path):
            os.unlink(path)
    except OSError:
        pass  # bind() will report the error
    try:
        yield
    finally:
        if folder is not None:
            os.close(folder)


# Locks the folder; returns False if another process still has the lock after _LOCK_WAIT_S.
def _locked(folder):
    until = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(0.005)


class TShmSocket(TTransportBase):
    """A connection over rings. `path` is the path of the server's unix socket; it can begin with 'shm:'."""

    def __init__(self, path):
        self.path = _path(path)
        self._timeout = _FOREVER
        self._ring = None
        self._accepted = None

    @classmethod
    def from_accepted(cls, connection, path=''):
        """Makes a transport of an accepted socket. The handshake is part of the first read or write. So a
        slow client does not delay other clients, and a server that forks after accept() performs the
        handshake in the child."""
        made = cls(path)
        made._accepted = connection
        return made

    def setTimeout(self, ms):
        """Sets the timeout of open() and of each wait in read() and write(), in milliseconds. None and 0
        mean no timeout."""
        self._timeout = _FOREVER if not ms else int(ms)

    def isOpen(self):
        return self._ring is not None or self._accepted is not None

    def open(self):
        if self.isOpen():
            raise TTransportException(TTransportException.ALREADY_OPEN, 'already open')
        try:
            self._ring = _ring.connect(self.path, self._timeout)
        except OSError as error:
            raise TTransportException(TTransportException.NOT_OPEN,
                                      '%s: %s' % (self.path, error.strerror), inner=error)

    def _opened(self):
        if self._ring is None:
            if self._accepted is None:
                raise TTransportException(TTransportException.NOT_OPEN, 'not open')
            connection, self._accepted = self._accepted, None
            try:
                self._ring = _ring.accept(connection.detach(), self._timeout)
            except OSError as error:
                raise _failed('greeting', error)
        return self._ring

    def close(self):
        if self._accepted is not None:
            self._accepted.close()
        if self._ring is not None:
            self._ring.close()
        self._ring = self._accepted = None

    def read(self, sz):
        try:
            came = self._opened().read(sz, self._timeout)
        except OSError as error:
            raise _failed('read', error)
        if not came and sz:
            raise TTransportException(TTransportException.END_OF_FILE, 'the other side has closed')
        return came

    def write(self, buff):
        try:
            self._opened().write(buff, self._timeout)
        except OSError as error:
            raise _failed('write', error)

    def flush(self):
        pass


class TShmServerSocket(TServerTransportBase):
    """Listens on a unix socket at `path`. The owner and mode of the socket's file decide which processes
    can connect. listen() replaces a socket that a killed server has left at the path."""

    def __init__(self, path, backlog=128):
        self.path = _path(path)
        self._backlog = backlog
        self.handle = None

    def isListening(self):
        return self.handle is not None

    def listen(self):
        handle = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with _claimed(self.path):
                handle.bind(self.path)
                handle.listen(self._backlog)
        except OSError:
            handle.close()
            raise
        self.handle = handle

    def accept(self):
        connection, _ = self.handle.accept()
        return TShmSocket.from_accepted(connection, self.path)

    def close(self):
        if self.handle is not None:
            self.handle.close()
            self.handle = None
