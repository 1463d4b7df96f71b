# SPDX-License-Identifier: Apache-2.0
"""kv/running.py: functions for hatkv's tests: run a server, run commands, and connect stock Python clients."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys

from thrift.protocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport

HATKV, STUBS = sys.argv[1:3]
sys.path.insert(0, STUBS)

from hatkv import HatKV  # noqa: E402

WAIT_S = 60  # how long the tests wait for anything to end


class Server:
    """A process of `hatkv serve` with its store in `folder`. A test can kill the process and start it again."""

    def __init__(self, folder, *options, listen=None):
        self.folder = pathlib.Path(folder)
        self.socket = str(self.folder / "kv.sock")
        self.options = options
        self.listen = listen or [f"unix:{self.socket}"]
        self.process = None
        self.addresses = []

    def start(self):
        words = [HATKV, "serve", "--data", str(self.folder / "data"), *self.options]
        for address in self.listen:
            words += ["--listen", address]
        with open(self.folder / "log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
        self.addresses = []
        for _ in self.listen:
            line = self.process.stdout.readline()
            assert line.startswith("listening on "), f"{line}{self.log()}"
            self.addresses.append(line.removeprefix("listening on ").strip())
        return self

    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8")

    def kill(self):
        return self.stop(signal.SIGKILL)

    def stop(self, how=signal.SIGTERM):
        """Sends the signal `how`, waits until the process ends, and returns its exit status (negative: a signal)."""
        if self.process is None:
            return 0
        self.process.send_signal(how)
        status = self.process.wait(timeout=WAIT_S)
        self.process.stdout.close()
        self.process = None
        return status

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()


@contextlib.contextmanager
def client(socket_path):
    """Connects a stock client (framed transport, binary protocol) to the unix socket at the path `socket_path`."""
    socket = TSocket.TSocket(unix_socket=socket_path)
    socket.setTimeout(WAIT_S * 1000)
    transport = TTransport.TFramedTransport(socket)
    transport.open()
    try:
        yield HatKV.Client(TBinaryProtocol.TBinaryProtocol(transport))
    finally:
        transport.close()


def hatkv(*words, address=None, stdin=None, expect=0):
    """Runs one command, whose exit status must be `expect`; returns stdout (bytes), or stderr (text) if it is not 0."""
    environment = {**os.environ, "HATKV_ADDRESS": address} if address else os.environ
    done = subprocess.run([HATKV, *words], env=environment, input=stdin, capture_output=True,
                          timeout=WAIT_S, check=False)
    assert done.returncode == expect, f"{words}: {done.returncode} {done.stdout} {done.stderr}"
    return done.stdout if expect == 0 else done.stderr.decode()
