# SPDX-License-Identifier: Apache-2.0
# tests/e2e/python/server.py: serves the test service (probe.thrift) with Thrift's Python servers until standard input
# ends.
import collections
import os
import sys
import threading
import time

import hatrpc
from probe import Probe
from probe.ttypes import DivisionByZero
from thrift.TMultiplexedProcessor import TMultiplexedProcessor
from thrift.server import THttpServer, TNonblockingServer, TProcessPoolServer, TServer
from thrift.transport import TSocket

from combination import read_combinations
from stack import protocol_factory, transport_factory

PATTERN = bytes(range(251))


class Handler:
    def __init__(self):
        self._lock = threading.Lock()
        self._notes = collections.Counter()

    def ping(self):
        pass

    def add(self, left, right):
        return left + right

    def echo(self, data):
        return data

    def echo_text(self, text):
        return text

    def echo_everything(self, value):
        return value

    def repeat(self, value, times):
        return [value] * times

    def divide(self, numerator, denominator):
        if denominator == 0:
            raise DivisionByZero(numerator, 'cannot divide by zero')
        return numerator // denominator

    def fail(self, why):
        raise RuntimeError(why)

    def note(self, who):
        with self._lock:
            self._notes[who] += 1

    def count(self, who):
        with self._lock:
            return self._notes.pop(who, 0)

    def slow(self, ms):
        time.sleep(ms / 1000)
        return ms

    hurried = slow

    def produce(self, size):
        return (PATTERN * (size // len(PATTERN) + 1))[:size]

    def consume(self, data):
        return len(data)


def make_socket(combination):
    if combination.shm_path:
        return hatrpc.TShmServerSocket(combination.shm_path)
    if combination.unix_path:
        return TSocket.TServerSocket(unix_socket=combination.unix_path)
    return TSocket.TServerSocket(combination.host, combination.port)


class Announcing:
    """A server socket. listen() sets `address`, where the socket listens, and then the event `listening`."""

    def __init__(self, combination):
        self.socket = make_socket(combination)
        self.listening = threading.Event()
        self.address = combination.address

    def __getattr__(self, name):
        return getattr(self.socket, name)

    def listen(self):
        self.socket.listen()
        if not self.address.startswith(('unix:', 'shm:')):
            self.address = '%s:%d' % self.socket.handle.getsockname()
        self.listening.set()


def make_processor(combination, handler):
    processor = Probe.Processor(handler)
    if not combination.multiplexed:
        return processor
    multiplexed = TMultiplexedProcessor()
    multiplexed.registerProcessor(combination.multiplexed, processor)
    return multiplexed


def start_http(combination, processor):
    server = THttpServer.THttpServer(processor, (combination.host, combination.port),
                                     protocol_factory(combination))
    threading.Thread(target=server.serve, daemon=True).start()
    return '%s:%d' % server.httpd.server_address


def start(combination, handler):
    """Starts a server and returns the address that it listens on."""
    processor = make_processor(combination, handler)
    if combination.transport == 'http':
        return start_http(combination, processor)
    socket = Announcing(combination)
    rest = (transport_factory(combination), protocol_factory(combination))
    if combination.server == 'nonblocking':
        server = TNonblockingServer.TNonblockingServer(processor, socket, rest[1])
    elif combination.server == 'processpool':
        server = TProcessPoolServer.TProcessPoolServer(processor, socket, *rest)
        server.setNumWorkers(4)
    elif combination.server in ('threaded', 'threadpool'):
        kind = {'threaded': TServer.TThreadedServer, 'threadpool': TServer.TThreadPoolServer}
        server = kind[combination.server](processor, socket, *rest, daemon=True)
    else:
        kind = {'simple': TServer.TSimpleServer, 'forking': TServer.TForkingServer}
        server = kind[combination.server](processor, socket, *rest)
    threading.Thread(target=server.serve, daemon=True).start()
    if not socket.listening.wait(30):
        sys.exit('probe_server: %s does not listen' % combination.address)
    return socket.address


def main():
    handler = Handler()
    for combination in read_combinations(sys.argv[1:], '--listen'):
        print('listening on', start(combination, handler), flush=True)
    sys.stdin.buffer.read()
    os._exit(0)  # the serving threads never return


if __name__ == '__main__':
    main()
