# SPDX-License-Identifier: Apache-2.0
"""hatrpc/transport.py: implements Thrift's transport interface over rings."""

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

# Thrift's timeouts are in milliseconds; None means no timeout.
_FOREVER = -1
_LOCK_WAIT_S = 1.0


def _path(address):
    """Returns the path in an address, which may begin with 'shm:' as in hatrpcd's configuration."""
    return address[4:] if address.startswith('shm:') else address


def _failed(what, error):
    kinds = {errno.EAGAIN: TTransportException.TIMED_OUT,
             errno.EPIPE: TTransportException.END_OF_FILE,
             errno.ECONNRESET: TTransportException.END_OF_FILE}
    return TTransportException(kinds.get(error.errno, TTransportException.NOT_OPEN),
                               '%s: %s' % (what, error.strerror), inner=error)


def _is_stale(path):
    """Returns whether the path is a socket that refuses connections. A connection to a file that is not
    a socket is refused too, so this checks the file's type first."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return False
        with socket.socket(socket.AF_UNIX) as probe:
            probe.setblocking(False)  # do not wait if the server's queue of connections is full
            probe.connect(path)
    except ConnectionRefusedError:
        return True
    except OSError:
        pass
    return False


@contextlib.contextmanager
def _claimed(path):
    """Removes the socket that a killed server has left at the path, and keeps other servers from
    removing it until this one listens. Uses the same lock as client/ring/path_claim.h."""
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
    """A connection over rings. `path` is the path of the unix socket over which the memory is passed;
    it may begin with 'shm:'."""

    def __init__(self, path):
        self.path = _path(path)
        self._timeout = _FOREVER
        self._ring = None
        self._accepted = None

    @classmethod
    def from_accepted(cls, connection, path=''):
        """Makes a transport of an accepted socket. The greeting happens at the first read or write, so
        that a client that greets slowly holds up no other client, and a process that only accepts and
        forks does not take part in it."""
        made = cls(path)
        made._accepted = connection
        return made

    def setTimeout(self, ms):
        """Sets the timeout of open() and of each wait in read() and write(); None: wait for ever."""
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
    """Listens on a unix socket at `path`; the file's owner and mode decide who may connect. Replaces a
    socket at the path on which no process listens any more, but no file of another kind."""

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
