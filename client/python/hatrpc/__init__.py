# SPDX-License-Identifier: Apache-2.0
"""hatrpc: Apache Thrift's socket transports over shared memory, to the hatrpcd of this host.

    from hatrpc import TShmSocket
    transport = TTransport.TFramedTransport(TShmSocket('/run/hatrpcd/kv.ring'))
    client = Kv.Client(TBinaryProtocol.TBinaryProtocolAccelerated(transport))
    transport.open()

TShmSocket stands where thrift.transport.TSocket.TSocket stood, and TShmServerSocket where TServerSocket
stood: under every wrapper transport and protocol, in TSimpleServer, TThreadedServer,
TThreadPoolServer and TForkingServer. docs/shm.md says what goes on below.
"""

from hatrpc.transport import TShmServerSocket, TShmSocket

__all__ = ['TShmServerSocket', 'TShmSocket']
