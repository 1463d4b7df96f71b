# SPDX-License-Identifier: Apache-2.0
"""hatrpc: transports for Apache Thrift that connect to the hatrpcd of the same host over shared memory.

    from hatrpc import TShmSocket
    transport = TTransport.TFramedTransport(TShmSocket('/run/hatrpcd/kv.ring'))
    client = Kv.Client(TBinaryProtocol.TBinaryProtocolAccelerated(transport))
    transport.open()

TShmSocket replaces thrift.transport.TSocket.TSocket, and TShmServerSocket replaces TServerSocket. They work
with every wrapper transport and protocol, and in TSimpleServer, TThreadedServer, TThreadPoolServer and
TForkingServer. docs/shm.md describes the format of the shared memory.

TRdma and TServerRdma need no hatrpcd: this process itself carries the calls over RDMA (docs/trdma.md).
They need the library libhatrpc-rdma.
"""

from hatrpc.rdma import TRdma, TServerRdma
from hatrpc.transport import TShmServerSocket, TShmSocket

__all__ = ['TRdma', 'TServerRdma', 'TShmServerSocket', 'TShmSocket']
