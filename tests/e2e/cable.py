# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/cable.py: a TCP relay between two daemons that a test can cut or jam, like a network cable.

    cable = Cable(port_of_the_link)   # relays connections to 127.0.0.1:cable.port to that port
    cable.cut()                       # ends all connections by RST, on both sides; accepts new ones as before
    cable.jam(); … cable.flow()       # holds all bytes between the two calls; neither side gets an error
"""

import selectors
import socket
import struct
import threading

CHUNK = 256 << 10
RESET = struct.pack("ii", 1, 0)  # a value of SO_LINGER with which close() sends RST


class Cable:
    def __init__(self, to_port):
        self.to_port = to_port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.wake_reader, self.wake_writer = socket.socketpair()
        self.jammed = False
        self.pairs = {}  # maps each socket of a connection to the socket of its other end
        self.selector = selectors.DefaultSelector()
        for one in (self.listener, self.wake_reader):
            self.selector.register(one, selectors.EVENT_READ)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def cut(self):
        self.say("cut")

    def jam(self):
        self.say("jam")

    def flow(self):
        self.say("flow")

    def end(self):
        self.say("end")
        self.thread.join()
        for one in (self.listener, self.wake_reader, self.wake_writer, *self.pairs):
            one.close()

    def say(self, word):
        self.wake_writer.send(word.ljust(4).encode())

    def run(self):
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is self.wake_reader:
                    if not self.heed(self.wake_reader.recv(4, socket.MSG_WAITALL).decode().strip()):
                        return
                    break  # the command may have closed sockets that this select() reported
                if key.fileobj is self.listener:
                    self.connect()
                elif key.fileobj in self.pairs:
                    self.carry(key.fileobj)

    def heed(self, word):
        if word == "cut":
            for one in self.pairs:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            for one in list(self.pairs):
                self.close(one)
        elif word in ("jam", "flow"):
            self.jammed = word == "jam"
            for one in self.pairs:
                self.look_at(one)
        return word != "end"

    def look_at(self, one):
        watched = one in self.selector.get_map()
        if self.jammed and watched:
            self.selector.unregister(one)
        elif not self.jammed and not watched:
            self.selector.register(one, selectors.EVENT_READ)

    def connect(self):
        near, _ = self.listener.accept()
        try:
            far = socket.create_connection(("127.0.0.1", self.to_port))
        except OSError:
            near.close()
            return
        self.pairs |= {near: far, far: near}
        for one in (near, far):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.look_at(one)

    def carry(self, one):
        other = self.pairs[one]
        try:
            got = one.recv(CHUNK)
            if got:
                other.sendall(got)  # does not block for long: daemons always read their links
                return
        except OSError:
            pass
        self.close(one)

    def close(self, one):
        """Closes both sockets of a connection, given either of them."""
        other = self.pairs.pop(one, None)
        if other is None:
            return
        del self.pairs[other]
        for end in (one, other):
            if end in self.selector.get_map():
                self.selector.unregister(end)
            end.close()
