#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bash_completion_test.py: tests the completions that deploy/bash-completion proposes for each program.

usage: bash_completion_test.py PROGRAMS, the folder of hatrpcd, hatctl, hintgen and hatkv
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = pathlib.Path(sys.argv[1]).resolve()

# A bash script that calls a program's completion function, with the words of a command line. The last word is the one
# to complete.
ASK = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_${1##*/}
printf '%s\\n' "${COMPREPLY[@]}"
"""


def proposed(*words, folder="/"):
    script = ROOT / "deploy" / "bash-completion" / words[0]
    done = subprocess.run(["/bin/bash", "-c", ASK, "bash", script, *words], cwd=folder, text=True,
                          env={**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"},
                          capture_output=True, check=True, timeout=60)
    assert done.stderr == "", done.stderr
    return sorted(set(done.stdout.split()))


class BashCompletion(unittest.TestCase):
    def test_commands_and_options(self):
        for words, expected in (
                (("hatrpcd", "--ch"), ["--check"]),
                (("hatrpcd", "--take"), ["--takeover"]),
                (("hatrpcd", "--log-level", "w"), ["warning"]),
                (("hatctl", "re"), ["reload"]),
                (("hatctl", "reload", "--dry"), ["--dry-run"]),
                (("hatctl", "--socket", "/nowhere", "top", "--int"), ["--interval"]),
                (("hatctl", "top", "--interval", ""), []),
                (("hatctl", "advise", "--ap"), ["--apply"]),
                (("hatctl", "doc"), ["doctor"]),
                (("hatctl", "run", "--lib"), ["--library"]),
                (("hatctl", "run", "--", "hatk"), ["hatkv", "hatkv-ycsb"]),
                (("hatctl", "doctor", "--co"), ["--config"]),
                (("hatctl", "certs", ""), ["make"]),
                (("hatctl", "certs", "make", "tls", "--da"), ["--days"]),
                (("hatctl", "certs", "make", "tls", "--days", ""), []),
                (("hatctl", "certs", "make", "tls", ""), []),  # no proposals for the names of nodes
                (("hintgen", "--exp"), ["--explain"]),
                (("hintgen", "--side", ""), ["client", "server"]),
                (("hatkv", "sc"), ["scan"]),
                (("hatkv", "get", "--ra"), ["--raw"]),
                (("hatkv", "get", "--protocol", ""), ["binary", "compact"])):
            with self.subTest(" ".join(words)):
                self.assertEqual(proposed(*words), expected)

    def test_nothing_but_options_is_proposed_for_a_hyphen(self):
        for words in (("hatrpcd", "-"), ("hatctl", "-"), ("hatctl", "status", "-"), ("hintgen", "-"),
                      ("hatkv", "-"), ("hatkv", "load", "-")):
            with self.subTest(" ".join(words)):
                found = proposed(*words)
                self.assertIn("--help", found)
                for one in found:
                    self.assertRegex(one, r"^--[a-z-]+$")

    def test_commands_come_from_the_help(self):
        self.assertLessEqual({"status", "reload", "calibrate"}, set(proposed("hatctl", "")))
        self.assertLessEqual({"serve", "get", "backup"}, set(proposed("hatkv", "")))

    def test_files_of_the_right_kind(self):
        with tempfile.TemporaryDirectory() as name:
            for file in ("kv.thrift", "kv.yaml"):
                pathlib.Path(name, file).touch()
            pathlib.Path(name, "kv").mkdir()
            self.assertEqual(proposed("hintgen", "kv", folder=name), ["kv", "kv.thrift"])
            self.assertEqual(proposed("hatrpcd", "-c", "kv.y", folder=name), ["kv.yaml"])
            self.assertEqual(proposed("hatrpcd", "--takeover", "--config", "kv.y", folder=name), ["kv.yaml"])
            self.assertEqual(proposed("hatctl", "doctor", "--config", "kv.y", folder=name), ["kv.yaml"])
            self.assertEqual(proposed("hatctl", "certs", "make", "k", folder=name), ["kv"])

    def test_functions_and_peers_of_the_daemon_that_is_asked(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "kv.yaml").write_text("hatrpc_manifest: 1\nservices: {Kv: {functions: {get: {}}}}\n")
            (folder / "hatrpcd.yaml").write_text(
                "node: a\nfabric: tcp\nmanifests: [kv.yaml]\nlink: {insecure: true}\n"
                f"peers: {{host-b: {{link: 'unix:{name}/b'}}}}\n"
                f"endpoints: [{{listen: 'unix:{name}/kv', service: Kv, peers: [host-b]}}]\n"
                f"admin: {{socket: {name}/admin}}\n")
            daemon = subprocess.Popen([PROGRAMS / "hatrpcd", "-c", folder / "hatrpcd.yaml"],
                                      stderr=subprocess.DEVNULL)
            try:
                ping = [PROGRAMS / "hatctl", "--socket", folder / "admin", "ping"]
                while subprocess.run(ping, capture_output=True, check=False).returncode != 0:
                    self.assertIsNone(daemon.poll(), "hatrpcd does not run")
                ask = ("hatctl", "--socket", f"{name}/admin")
                self.assertEqual(proposed(*ask, "routes", "Kv.g"), ["Kv.get"])
                self.assertEqual(proposed(*ask, "advise", "Kv.g"), ["Kv.get"])
                self.assertEqual(proposed(*ask, "calibrate", ""), ["host-b"])
                self.assertEqual(proposed(*ask, "doctor", ""), ["host-b"])
            finally:
                daemon.terminate()
                daemon.wait(30)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
