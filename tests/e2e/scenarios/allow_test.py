# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/allow_test.py: a peer hides a call of a forbidden function in a request that it may send.

The test sends each attack first to the stock server, to show that the attack works there, and then through the
daemons, which must stop the attack.
"""

import contextlib
import socket
import struct

from setting import PEERS, PROGRAMS, main, manifest
from nodes import Server, TwoNodes, hatrpc_address
from peers import Peers
from probe import Probe
from thrift.protocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport
from tls_test import TlsNodes

WAIT_S = 30
CALL, ONEWAY = 1, 4


def word(value):
    return struct.pack(">I", value)


def text(value):
    return word(len(value)) + value.encode()


def message(function, arguments, old=False, kind=CALL):
    """Returns an unframed message in binary protocol. `arguments` must include the byte that ends the struct."""
    if old:
        return text(function) + bytes([kind]) + word(1) + arguments
    return word(0x80010000 | kind) + text(function) + word(1) + arguments


def string_argument(value):
    return b"\x0b\0\1" + text(value) + b"\0"


def ping():
    return message("ping", b"\0")


def hidden(who, **how):
    """Returns a call of note(who), which the peer is not allowed to make."""
    return message("note", string_argument(who), **how)


def second_message(who):
    return ping() + hidden(who)


def behind_a_long_name(who):
    """Sends a function name of 256 bytes before the hidden call.

    hatrpcd rejects such a long name. Servers accept it, answer "unknown method", and read the hidden call.
    """
    return ping() + message("x" * 256, b"\0") + hidden(who)


def in_another_encoding(who):
    return ping() + hidden(who, old=True)


def in_a_list(who):
    """Sends a list of i64 in the field Everything.numbers, whose type is list<i32>.

    The generated code ignores the element type that was sent, and reads as many i32s, which are half of the bytes. It
    reads the other half as the ends of two structs and another call. A reader that uses the sent type reads i64s.
    """
    rest = b"\0\0" + hidden(who)
    count = -(-len(rest) // 4)
    numbers = b"\x0f\0\x0f\x0a" + word(count) + bytes(4 * count) + rest.ljust(4 * count, b"\0")
    return message("repeat", b"\x0c\0\1" + numbers + b"\0\0")


def announced_as_oneway(who):
    return hidden(who, kind=ONEWAY)


def in_a_union(who):
    """Sends a Shape (a union) with two fields, a radius and a polygon, although a union may have only one.

    Java reads the first field, and takes the head of the second field for the union's end. Java then reads the
    polygon's points as fields of Everything, the end of Everything, and the end of the arguments. Java reads the
    length of the label, 0x8001, and the label's first bytes as the beginning of another call.
    """
    label = (b"\0\1" + hidden(who)[4:]).ljust(0x8001, b"a")
    first = b"\x08\0\1" + word(0x0a) + b"\x08\0\2" + word(0) + b"\x0b\0\3" + word(len(label)) + label + b"\0"
    point = b"\x08\0\1" + word(0) + b"\x08\0\2" + word(0) + b"\0"
    polygon = b"\x0f\0\3\x0c" + word(8) + first + 7 * point
    shape = b"\x0c\0\x0d" + b"\x04\0\2" + bytes(8) + polygon + b"\0"
    return message("repeat", b"\x0c\0\1" + shape + b"\0\0")


def behind_a_missing_field(who):
    """Sends a Point without its required field `y`.

    Java stops reading the request after this Point, answers, and takes the next bytes for a new message. Java reads the
    three empty Points and the head of the label as a call (in the older encoding) of a function without a name. Java
    reads the rest of the label as another call.
    """
    label = b"12345" + b"\1" + word(1) + b"\0" + hidden(who)
    points = b"\x08\0\1" + word(1) + b"\0" + 3 * b"\0" + b"\x0b\0\3" + word(len(label)) + label + b"\0"
    return message("repeat", b"\x0c\0\1" + b"\x0f\0\x10\x0c" + word(5) + points + b"\0\0")


ATTACKS = [second_message, behind_a_long_name, in_another_encoding, in_a_list, announced_as_oneway, in_a_union,
           behind_a_missing_field]
ON_JAVA_ALONE = {in_a_union, behind_a_missing_field}


def rule_for_note(text_of_manifest):
    before, service, functions = text_of_manifest.partition("  Probe:\n")
    guarded = functions.replace("      note:\n", "      note:\n        allow: [host-x]\n", 1)
    assert guarded != functions
    return before + service + guarded


def send(address, transport, request):
    """Sends the request and a FIN, and waits until the server ends the connection, so that all its calls are made."""
    host, _, port = address.removeprefix("tcp:").rpartition(":")
    with socket.create_connection((host, int(port)), timeout=WAIT_S) as connection:
        connection.sendall(word(len(request)) + request if transport == "framed" else request)
        with contextlib.suppress(OSError):  # the other side may have reset the connection already
            connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError):
            while connection.recv(65536):
                pass


@contextlib.contextmanager
def calls(address, transport):
    host, _, port = address.removeprefix("tcp:").rpartition(":")
    plain = TSocket.TSocket(host, int(port))
    plain.setTimeout(WAIT_S * 1000)
    wrap = TTransport.TFramedTransport if transport == "framed" else TTransport.TBufferedTransport
    through = wrap(plain)
    through.open()
    try:
        yield Probe.Client(TBinaryProtocol.TBinaryProtocol(through))
    finally:
        through.close()


def count_of(address, transport, who):
    """Returns how often note(who) was called, by asking the server directly."""
    with calls(address, transport) as server:
        return server.count(who)


class Allow(TlsNodes):
    def check_language(self, language):
        peers = Peers(PEERS)
        peers.have(language)
        worked = set()
        for transport in ("framed", "buffered"):
            server = Server(*peers.command(language, "server"),
                            [("127.0.0.1:0", ["--transport", transport, "--protocol", "binary"])])
            self.addCleanup(server.stop)
            address = hatrpc_address(server.addresses[0])
            links = {node: self.tls(f"one/{node}") for node in ("host-a", "host-b")}
            with TwoNodes(PROGRAMS, rule_for_note(manifest()), {"Probe": address}, links=links,
                          modes={"Probe": {"thrift_transport": transport, "thrift_protocol": "binary"}}) as nodes:
                self.await_up(nodes)
                for attack in ATTACKS:
                    name = f"{language} {transport} {attack.__name__}"
                    send(address, transport, attack(f"direct {name}"))
                    if count_of(address, transport, f"direct {name}") > 0:
                        worked.add(attack)
                    send(nodes.endpoints["Probe"], transport, attack(name))
                    self.assertEqual(count_of(address, transport, name), 0, name)
                # The daemon must still carry the calls that the peer is allowed to make.
                with calls(nodes.endpoints["Probe"], transport) as client:
                    self.assertEqual(client.add(1, 2), 3)
                    self.assertEqual(client.count("nobody"), 0)
                for reason in ("wrong_type", "bad_union", "missing_field"):
                    self.assertGreaterEqual(
                        self.metric(nodes.b, 'hatrpc_authz_refused_total{reason="%s"}' % reason), 1, reason)
        return worked

    def test_cpp(self):
        self.assertEqual(self.check_language("cpp"), set(ATTACKS) - ON_JAVA_ALONE)

    def test_python(self):
        # in_another_encoding() does not work on Python's library: it reads the name in a message of the old encoding as
        # bytes, and finds no such function.
        self.assertEqual(self.check_language("python"), set(ATTACKS) - ON_JAVA_ALONE - {in_another_encoding})

    def test_go(self):
        self.assertEqual(self.check_language("go"), set(ATTACKS) - ON_JAVA_ALONE)

    def test_java(self):
        self.assertEqual(self.check_language("java"), set(ATTACKS))

    def test_node(self):
        self.assertEqual(self.check_language("node"), set(ATTACKS) - ON_JAVA_ALONE)

    def test_rust(self):
        # Two attacks do not work on Rust's server: it closes the connection after a call of an unknown function, and
        # rejects the older encoding.
        self.assertEqual(self.check_language("rust"),
                         set(ATTACKS) - ON_JAVA_ALONE - {behind_a_long_name, in_another_encoding})


if __name__ == "__main__":
    main()
