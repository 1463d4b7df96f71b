# SPDX-License-Identifier: Apache-2.0
"""hatrpc/rdma.py: implements the transport interface of Thrift over RDMA, with the library libhatrpc-rdma.

    options = {'config': 'link: {insecure: true}', 'manifest_file': 'echo.yaml'}
    transport = TTransport.TFramedTransport(TRdma('host-b', 9090, **options))

The options are the members of RdmaOptions (client/rdma/rdma_options.h), as text.
"""

import ctypes
import functools

from thrift.transport.TTransport import (TServerTransportBase, TTransportBase,
                                         TTransportException)

_OPTIONS = ('manifest', 'manifest_file', 'config', 'config_file', 'service', 'thrift_transport',
            'thrift_protocol')
_READ_BYTES = 64 * 1024


class _Options(ctypes.Structure):
    _fields_ = [(name, ctypes.c_char_p) for name in _OPTIONS]


def _options(given):
    wrong = sorted(set(given) - set(_OPTIONS))
    if wrong:
        raise TypeError('%s: no option of TRdma; they are %s' % (', '.join(wrong), ', '.join(_OPTIONS)))
    return _Options(**{name: str(text).encode() for name, text in given.items()})


@functools.cache
def _library():
    """Returns the functions of client/rdma/hatrpc_rdma.h. They run without the interpreter's lock."""
    library = ctypes.CDLL('libhatrpc-rdma.so.0')
    pointer, text, number, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t
    for name, result, arguments in (
            ('error', number, [ctypes.POINTER(text)]),
            ('open', pointer, [text, number, ctypes.POINTER(_Options), number]),
            ('read', ctypes.c_int64, [pointer, text, size, number]),
            ('write', number, [pointer, text, size, number]),
            ('flush', number, [pointer]),
            ('describe', None, [pointer, text, size]),
            ('close', None, [pointer]),
            ('listen', pointer, [text, number, ctypes.POINTER(_Options)]),
            ('port', number, [pointer]),
            ('accept', pointer, [pointer]),
            ('interrupt', None, [pointer]),
            ('server_close', None, [pointer])):
        function = getattr(library, 'hatrpc_rdma_' + name)
        function.restype, function.argtypes = result, arguments
    return library


def _failed():
    """Returns the exception for this thread's last error."""
    text = ctypes.c_char_p()
    kind = _library().hatrpc_rdma_error(ctypes.byref(text))
    kinds = {1: TTransportException.NOT_OPEN, 2: TTransportException.TIMED_OUT,
             3: TTransportException.END_OF_FILE}
    return TTransportException(kinds.get(kind, TTransportException.UNKNOWN), text.value.decode())


class TRdma(TTransportBase):
    """Takes the place of TSocket: connects to `host`:`port` without a hatrpcd on this host."""

    def __init__(self, host, port, **options):
        self._connection = None
        self.host, self.port = host, port
        self._given = _options(options)
        self._timeout = 0

    @classmethod
    def from_accepted(cls, connection):
        """Makes a transport of a connection that the library has accepted."""
        made = cls('', 0)
        made._connection = connection
        return made

    def setTimeout(self, ms):
        """Sets the timeout of open() and of each wait in read() and write(), in milliseconds. None and 0
        mean no timeout."""
        self._timeout = int(ms or 0)

    def isOpen(self):
        return self._connection is not None

    def open(self):
        if self.isOpen():
            raise TTransportException(TTransportException.ALREADY_OPEN, 'already open')
        self._connection = _library().hatrpc_rdma_open(self.host.encode(), self.port,
                                                       ctypes.byref(self._given), self._timeout)
        if self._connection is None:
            raise _failed()

    def close(self):
        _library().hatrpc_rdma_close(self._connection)
        self._connection = None

    def __del__(self):
        if self.isOpen():
            self.close()

    def _opened(self):
        if not self.isOpen():
            raise TTransportException(TTransportException.NOT_OPEN, 'not open')
        return self._connection

    def read(self, sz):
        into = ctypes.create_string_buffer(min(sz, _READ_BYTES))
        count = _library().hatrpc_rdma_read(self._opened(), into, len(into), self._timeout)
        if count < 0:
            raise _failed()
        if count == 0 and sz:
            raise TTransportException(TTransportException.END_OF_FILE, 'the other side has closed')
        return into.raw[:count]

    def write(self, buff):
        if _library().hatrpc_rdma_write(self._opened(), bytes(buff), len(buff), self._timeout) != 0:
            raise _failed()

    def flush(self):
        if _library().hatrpc_rdma_flush(self._opened()) != 0:
            raise _failed()

    def describe(self):
        """Returns a text about the fabric and the RDMA lanes, as TRdma::describe() in C++."""
        into = ctypes.create_string_buffer(4096)
        _library().hatrpc_rdma_describe(self._opened(), into, len(into))
        return into.value.decode()


class TServerRdma(TServerTransportBase):
    """Takes the place of TServerSocket: listens at `host`:`port`, without a hatrpcd on this host. An empty
    host is every address; after listen(), `port` is the port that the kernel chose for 0.

    It works in TSimpleServer, TThreadedServer and TThreadPoolServer. TForkingServer cannot use it, because a
    child must not use the connections of its parent."""

    def __init__(self, host, port, **options):
        self.host, self.port = host, port
        self._given = _options(options)
        self._server = None

    def isListening(self):
        return self._server is not None

    def listen(self):
        self._server = _library().hatrpc_rdma_listen(self.host.encode(), self.port,
                                                     ctypes.byref(self._given))
        if self._server is None:
            raise _failed()
        self.port = _library().hatrpc_rdma_port(self._server)

    def accept(self):
        connection = _library().hatrpc_rdma_accept(self._server)
        if connection is None:
            raise _failed()
        return TRdma.from_accepted(connection)

    def interrupt(self):
        """Makes accept() raise an exception, now or once when it is called next. Any thread may call it."""
        _library().hatrpc_rdma_interrupt(self._server)

    def close(self):
        _library().hatrpc_rdma_server_close(self._server)
        self._server = None
