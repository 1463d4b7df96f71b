# SPDX-License-Identifier: Apache-2.0
"""bench/nic/trial.py: helps tests of `./dev nic`: runs both commands, and checks an archive."""

import contextlib
import os
import pathlib
import subprocess
import sys
import tarfile

from engine.engine_bench import PROTOCOLS
from nic import services
from tool import results

BENCH = pathlib.Path(__file__).resolve().parent.parent
END_SECONDS = 60
SLOT_BYTES = 1024  # messages up to this size fit a slot of each protocol
LAST_LINE = "Ctrl-C"  # the last line of `serve` begins with this word


def command(*words):
    return [sys.executable, "-m", "nic", *map(str, words)]


def environment():
    return {**os.environ, "PYTHONPATH": str(BENCH)}


@contextlib.contextmanager
def serving(*words):
    """Runs `./dev nic serve` with `words`; yields the process when it serves, and the lines that it has printed."""
    process = subprocess.Popen(command("serve", *words), stdout=subprocess.PIPE, text=True, env=environment())
    try:
        lines = []
        while not lines or lines[-1] and not lines[-1].startswith(LAST_LINE):
            lines.append(process.stdout.readline())
        yield process, lines
    finally:
        process.terminate()
        process.wait(END_SECONDS)
        process.stdout.close()


def run(*words, seconds=END_SECONDS):
    """Runs `./dev nic` with `words` to its end; returns the CompletedProcess, with all output in `stdout`."""
    return subprocess.run(command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=environment(), timeout=seconds, check=False)


class Archive:
    """The files of the only archive in a folder."""

    def __init__(self, folder):
        [file] = folder.glob("hatrpc-nic-*.tar.gz")
        self.name = file.name.removesuffix(".tar.gz")
        with tarfile.open(file) as packed:
            packed.extractall(folder / "unpacked")
        self.folder = folder / "unpacked" / self.name
        self.results = results.read(self.folder / results.FILE)

    def text(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def mistakes(self):
        """Returns sentences about what a measurement without failures must have, and this archive lacks."""
        found, facts = self.results, self.results.facts
        said = [str(row) for row in found.errors()]
        if len(found.rows) != found.expected():
            said.append(f"{len(found.rows)} of {found.expected()} measurements")
        for peer, point in ((peer, point) for peer in services.PEERS for point in found.points):
            used = [peer, services.name_of(peer, point)]
            carriers = {request for *way, request, _, _ in facts["carried"] if way == used}
            fits_slots = peer in PROTOCOLS and point["bytes"] <= SLOT_BYTES
            if not any(request == peer if fits_slots else services.is_as_wanted(peer, request) for request in carriers):
                said.append(f"no call of {peer} at {point} went in the wanted way, but by {carriers}")
        if list(facts["outcomes"]) != ["success"]:
            said.append(f"outcomes of calls: {facts['outcomes']}")
        for file, texts in (("profile.yaml", ("hatrpc_profile: 1", "peer: server", "  put: ")),
                            ("report.md", ("| processor |", "## Latency, one client", *PROTOCOLS))):
            said += [f"{file} lacks {words}" for words in texts if words not in self.text(file)]
        said += [f"no log of {node}" for node in ("client", "client-measured", "server")
                 if not self.text(f"logs/{node}.log")]
        return said
