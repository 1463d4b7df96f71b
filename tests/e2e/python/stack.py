# SPDX-License-Identifier: Apache-2.0
# tests/e2e/python/stack.py: makes the transports and protocols of Thrift's Python library by name.
import hatrpc
from thrift.protocol import (TBinaryProtocol, TCompactProtocol, THeaderProtocol, TJSONProtocol,
                             TMultiplexedProtocol)
from thrift.transport import THeaderTransport, THttpClient, TSocket, TTransport, TZlibTransport


def make_socket(combination):
    if combination.shm_path:
        return hatrpc.TShmSocket(combination.shm_path)
    if combination.unix_path:
        return TSocket.TSocket(unix_socket=combination.unix_path)
    return TSocket.TSocket(combination.host, combination.port)


TRANSPORT_FACTORIES = {
    'buffered': TTransport.TBufferedTransportFactory,
    'framed': TTransport.TFramedTransportFactory,
    'zlib': TZlibTransport.TZlibTransportFactory,
    'header': TTransport.TTransportFactoryBase,  # THeaderProtocol makes its own transport
    'framed_header': TTransport.TFramedTransportFactory,
}

PROTOCOL_FACTORIES = {
    'binary': TBinaryProtocol.TBinaryProtocolFactory,
    'binary_c': TBinaryProtocol.TBinaryProtocolAcceleratedFactory,
    'compact': TCompactProtocol.TCompactProtocolFactory,
    'compact_c': TCompactProtocol.TCompactProtocolAcceleratedFactory,
    'json': TJSONProtocol.TJSONProtocolFactory,
}

HEADER_CLIENTS = (
    THeaderTransport.THeaderClientType.HEADERS,
    THeaderTransport.THeaderClientType.FRAMED_BINARY,
    THeaderTransport.THeaderClientType.UNFRAMED_BINARY,
    THeaderTransport.THeaderClientType.FRAMED_COMPACT,
    THeaderTransport.THeaderClientType.UNFRAMED_COMPACT,
)

HEADER_PROTOCOLS = {
    'binary': THeaderTransport.THeaderSubprotocolID.BINARY,
    'compact': THeaderTransport.THeaderSubprotocolID.COMPACT,
}


def protocol_factory(combination):
    if combination.transport in ('header', 'framed_header'):
        return THeaderProtocol.THeaderProtocolFactory(HEADER_CLIENTS,
                                                      HEADER_PROTOCOLS[combination.protocol])
    if combination.protocol.endswith('_c'):
        return PROTOCOL_FACTORIES[combination.protocol](fallback=False)
    return PROTOCOL_FACTORIES[combination.protocol]()


def transport_factory(combination):
    return TRANSPORT_FACTORIES[combination.transport]()


def client_stack(combination):
    """Returns a transport, which is not open yet, and the protocol on it."""
    if combination.transport == 'http':
        transport = THttpClient.THttpClient('http://%s/probe' % combination.address)
        transport.setTimeout(combination.timeout_ms)
    else:
        socket = make_socket(combination)
        socket.setTimeout(combination.timeout_ms)
        transport = transport_factory(combination).getTransport(socket)
    protocol = protocol_factory(combination).getProtocol(transport)
    if combination.multiplexed:
        protocol = TMultiplexedProtocol.TMultiplexedProtocol(protocol, combination.multiplexed)
    return transport, protocol
