# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/shared_test.py: in shared mode, each client gets the replies to its own calls.

The clients use many patterns of sequence ids. At the same time, hostile clients send parts of requests, several
messages in one frame, and calls that falsely claim to be oneway.
"""

import json
import socket
import struct

from setting import PEERS, PROGRAMS, Scenario, main
from nodes import Server, TwoNodes, hatrpc_address
from peers import Peers
from probe import ProbeOfTomorrow
from thrift.protocol import TBinaryProtocol, TCompactProtocol, TJSONProtocol
from thrift.Thrift import TApplicationException, TMessageType
from thrift.transport import TTransport

PROTOCOLS = {"binary": TBinaryProtocol.TBinaryProtocol, "compact": TCompactProtocol.TCompactProtocol,
             "json": TJSONProtocol.TJSONProtocol}
COMBINATIONS = [(transport, protocol) for transport in ("framed", "buffered") for protocol in PROTOCOLS]
HALVES = 16  # clients that each send only half of a request
IDS = {"always 0": lambda i: 0, "all equal": lambda i: 12345, "negative": lambda i: -1 - i,
       "ascending": lambda i: i, "at the edge": lambda i: 0x7fffffff - i % 2}
CLIENTS, CALLS = 6, 20
ADD_ARGS = ProbeOfTomorrow.Client.add.__globals__["add_args"]
ADD_RESULT = ProbeOfTomorrow.Client.add.__globals__["add_result"]


def json_end(data):
    """Returns the offset of the first JSON message's end. Thrift's JSON reader would read too many bytes."""
    try:
        return json.JSONDecoder().raw_decode(data.decode())[1]
    except json.JSONDecodeError as error:
        raise EOFError("the message is not complete yet") from error


class RawClient:
    """A client that sends calls of `add` with any sequence id and message type, and reads replies one by one."""

    def __init__(self, address, transport, protocol):
        host, _, port = address.removeprefix("tcp:").rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=30)
        self.framed = transport == "framed"
        self.protocol = protocol
        self.held = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def seqid(self, seqid):
        # Python's compact protocol loops forever if it writes a negative sequence id.
        return seqid & 0xffffffff if self.protocol == "compact" else seqid

    def message(self, seqid, left, right, kind=TMessageType.CALL):
        memory = TTransport.TMemoryBuffer()
        protocol = PROTOCOLS[self.protocol](memory)
        protocol.writeMessageBegin("add", kind, self.seqid(seqid))
        ADD_ARGS(left, right).write(protocol)
        protocol.writeMessageEnd()
        return memory.getvalue()

    def send(self, *messages):
        body = b"".join(messages)
        self.socket.sendall(struct.pack(">I", len(body)) + body if self.framed else body)

    def _more(self):
        piece = self.socket.recv(65536)
        if not piece:
            raise EOFError("the connection ended")
        self.held += piece

    def reply(self):
        """Reads the next reply; returns its sequence id, and its value or exception."""
        if self.framed:
            while len(self.held) < 4 or len(self.held) < 4 + struct.unpack(">I", self.held[:4])[0]:
                self._more()
            size = struct.unpack(">I", self.held[:4])[0]
            body, self.held = self.held[4:4 + size], self.held[4 + size:]
            return self.parse(body)[0]
        while True:
            try:
                end = json_end(self.held) if self.protocol == "json" else len(self.held)
                answer, taken = self.parse(self.held[:end])
                self.held = self.held[taken:]
                return answer
            except (EOFError, TTransport.TTransportException):
                self._more()

    def parse(self, data):
        memory = TTransport.TMemoryBuffer(data)
        protocol = PROTOCOLS[self.protocol](memory)
        name, kind, seqid = protocol.readMessageBegin()
        if kind == TMessageType.EXCEPTION:
            value = TApplicationException()
            value.read(protocol)
        else:
            assert (name, kind) == ("add", TMessageType.REPLY), (name, kind)
            result = ADD_RESULT()
            result.read(protocol)
            value = result.success
        protocol.readMessageEnd()
        return (seqid, value), memory.cstringio_buf.tell()


class Shared(Scenario):
    def check_language(self, language, combinations=COMBINATIONS):
        peers = Peers(PEERS)
        peers.have(language)
        server = Server(*peers.command(language, "server"),
                        [("127.0.0.1:0", ["--transport", transport, "--protocol", protocol])
                         for transport, protocol in combinations])
        self.addCleanup(server.stop)
        services = [f"Probe{i}" for i in range(len(combinations))]
        listed = "hatrpc_manifest: 1\nservices:\n" + "".join(
            f"  {service}: {{functions: {{add: {{}}}}}}\n" for service in services)
        with TwoNodes(PROGRAMS, listed,
                      {service: hatrpc_address(address) for service, address in zip(services, server.addresses)},
                      modes={service: {"mode": "shared", "max_connections": 2} for service in services}) as nodes:
            for service, (transport, protocol) in zip(services, combinations):
                with self.subTest(language=language, transport=transport, protocol=protocol):
                    self.check(nodes.endpoints[service], transport, protocol)

    def check(self, endpoint, transport, protocol):
        def client():
            return RawClient(endpoint, transport, protocol)

        for words, seqid in IDS.items():
            with self.subTest(ids=words):
                clients = [client() for _ in range(CLIENTS)]
                hostile = [client() for _ in range(2 + HALVES)]
                try:
                    self.carry(clients, hostile, seqid)
                finally:
                    for each in clients + hostile:
                        each.socket.close()

    def carry(self, clients, hostile, seqid):
        early, twice, *halves = hostile
        for number, half in enumerate(halves):
            whole = half.message(number, number, number)
            half.socket.sendall((struct.pack(">I", len(whole)) if half.framed else b"") + whole[:len(whole) // 2])
        for i in range(CALLS):
            for number, each in enumerate(clients):  # send all calls before reading a reply
                each.send(each.message(seqid(i), 1000 * number, i))
            # Send a call that has a reply with the message type of a oneway call.
            early.send(early.message(seqid(i), 5_000_000, i, TMessageType.ONEWAY))
        if twice.framed:
            twice.send(twice.message(1, 1, 1), twice.message(2, 2, 2))
        for i in range(CALLS):
            for number, each in enumerate(clients):
                got, value = each.reply()
                self.assertEqual((got & 0xffffffff, value), (seqid(i) & 0xffffffff, 1000 * number + i))
        if twice.framed:
            value = twice.reply()[1]
            self.assertIn("not_one_message", value.message)

    def test_cpp(self):
        self.check_language("cpp")

    def test_python(self):
        self.check_language("python")

    def test_go(self):
        self.check_language("go")

    def test_java(self):
        self.check_language("java")

    def test_node(self):
        self.check_language("node")

    def test_rust(self):
        without_json = [pair for pair in COMBINATIONS if pair[1] != "json"]  # Rust's library has no JSON protocol
        self.check_language("rust", without_json)


if __name__ == "__main__":
    main()
