# SPDX-License-Identifier: Apache-2.0
"""hatrpc: transports for Apache Thrift that connect to the hatrpcd of the same host over shared memory.

    from hatrpc import TShmSocket
    transport = TTransport.TFramedTransport(TShmSocket('/run/hatrpcd/kv.ring'))
    client = Kv.Client(TBinaryProtocol.TBinaryProtocolAccelerated(transport))
    transport.open()

TShmSocket replaces thrift.transport.TSocket.TSocket, and TShmServerSocket replaces TServerSocket. They work
with every wrapper transport and protocol, and in TSimpleServer, TThreadedServer, TThreadPoolServer and
TForkingServer. docs/shm.md describes the format of the shared memory.
"""

from hatrpc.transport import TShmServerSocket, TShmSocket

__all__ = ['TShmServerSocket', 'TShmSocket']
