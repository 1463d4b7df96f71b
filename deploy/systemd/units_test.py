#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/systemd/units_test.py: checks the units and the default configuration with systemd and hatrpcd.

usage: units_test.py HATRPCD HATCTL
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HATRPCD, HATCTL = sys.argv[1:3]
SYSTEMD = pathlib.Path(__file__).resolve().parent
EXAMPLES = SYSTEMD / "examples"
CALCULATOR = SYSTEMD.parent.parent / "config" / "examples" / "calculator.yaml"
EXPOSURE_MAX = 20  # in tenths: 2.0

# Complaints about programs and units that are missing on this machine are not mistakes of the unit.
NOT_INSTALLED = re.compile(r"is not executable: No such file|Command 'man .*' failed with code|"
                           r"Failed to locate executable|Unit .* not found")
KEYS_OF_254 = re.compile(r"Unknown key (?:name )?'(?:RestartSteps|RestartMaxDelaySec|RestartMode)' in section")


def analyze(*words):
    done = subprocess.run(["systemd-analyze", *words], text=True, capture_output=True, check=False,
                          timeout=60, env={"PATH": "/usr/bin:/bin", "SYSTEMD_COLORS": "0", "LC_ALL": "C.UTF-8"})
    return done.returncode, done.stdout + done.stderr


def complaints(*units):
    """Returns the complaints of `systemd-analyze verify` about units and the files beside them."""
    _, said = analyze("verify", *units)
    return [line for line in said.splitlines() if line and not NOT_INSTALLED.search(line)]


class Units(unittest.TestCase):
    def with_drop_in(self, drop_in):
        held = tempfile.TemporaryDirectory(prefix="hatrpc-units-")
        self.addCleanup(held.cleanup)
        folder = pathlib.Path(held.name)
        (folder / "hatrpcd.service").write_text((SYSTEMD / "hatrpcd.service").read_text())
        (folder / "hatrpcd.socket").write_text((EXAMPLES / "hatrpcd.socket").read_text())
        (folder / "hatrpcd.service.d").mkdir()
        (folder / "hatrpcd.service.d" / "more.conf").write_text(drop_in)
        return folder / "hatrpcd.service"

    def test_exposure_is_low(self):
        status, said = analyze("security", "--offline=yes", "--no-pager",
                               f"--threshold={EXPOSURE_MAX}", str(SYSTEMD / "hatrpcd.service"))
        self.assertRegex(said, "Overall exposure level for hatrpcd.service: ")
        self.assertEqual(status, 0, said)

    def test_a_unit_without_its_sandbox_would_be_noticed(self):
        unit = self.with_drop_in("[Service]\nProtectSystem=no\nNoNewPrivileges=no\n")
        status, said = analyze("security", "--offline=yes", "--no-pager",
                               f"--threshold={EXPOSURE_MAX}", str(unit))
        self.assertNotEqual(status, 0, said)

    def test_systemd_has_nothing_to_complain_of(self):
        self.assertEqual(complaints(self.with_drop_in("")), [])
        self.assertEqual(complaints(self.with_drop_in((EXAMPLES / "rdma-required.conf").read_text())), [])
        self.assertNotEqual(complaints(self.with_drop_in("[Service]\nNoSuchKey=1\n")), [])

    def test_the_drop_in_for_newer_systemds_has_no_unknown_key_but_theirs(self):
        said = complaints(self.with_drop_in((EXAMPLES / "systemd-254.conf").read_text()))
        self.assertEqual([line for line in said if not KEYS_OF_254.search(line)], [])

    def test_the_drain_may_end_by_itself(self):
        unit = (SYSTEMD / "hatrpcd.service").read_text()
        stop = int(re.search(r"(?m)^TimeoutStopSec=(\d+)s$", unit)[1])
        limits = (CALCULATOR.parent / "hatrpcd.yaml").read_text()
        self.assertGreater(stop, int(re.search(r"drain_timeout: (\d+)s", limits)[1]))

    def test_memory_has_no_bound_and_the_unit_says_where_to_find_one(self):
        unit = (SYSTEMD / "hatrpcd.service").read_text()
        self.assertNotRegex(unit, r"(?m)^MemoryMax=")
        comment, example = re.search(r'#.*docs/operations\.md \("Sizing"\)(.*\n)+?#   (MemoryMax=\S+)', unit).group(0, 2)
        self.assertIn("drop-in", comment)
        self.assertEqual(complaints(self.with_drop_in(f"[Service]\n{example}\n")), [])

    def test_the_user_and_the_folder_can_be_made(self):
        with tempfile.TemporaryDirectory(prefix="hatrpc-units-") as root:
            for folder in ("etc", "run", "proc"):
                pathlib.Path(root, folder).mkdir()
            made = subprocess.run(["systemd-sysusers", f"--root={root}", "--replace=/usr/lib/sysusers.d/x.conf", "-"],
                                  input=(SYSTEMD / "hatrpcd.sysusers").read_text(), text=True,
                                  capture_output=True, check=False, timeout=60)
            self.assertEqual(made.returncode, 0, made.stderr)
            passwd = pathlib.Path(root, "etc/passwd").read_text()
            self.assertRegex(passwd, r"(?m)^hatrpcd:.*:/run/hatrpcd:\S*/nologin$")
            self.assertRegex(pathlib.Path(root, "etc/group").read_text(), r"(?m)^rdma:[^:]*:\d+:hatrpcd$")


class DefaultConfiguration(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory(prefix="hatrpc-units-") as name:
            folder = pathlib.Path(name)
            (folder / "manifests").mkdir()
            if "Calculator" in text:
                (folder / "manifests" / "calculator.yaml").write_text(CALCULATOR.read_text())
            if "tls/" in text:
                subprocess.run([HATCTL, "certs", "make", folder / "tls", "host-a"], check=True,
                               capture_output=True, timeout=60)
            (folder / "hatrpcd.yaml").write_text(text)
            done = subprocess.run([HATRPCD, "--check", "-c", folder / "hatrpcd.yaml"], text=True,
                                  capture_output=True, check=False, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_it_is_right_as_it_is_and_with_all_that_it_proposes(self):
        text = (SYSTEMD.parent / "hatrpcd.yaml").read_text()
        bare = re.sub(r"(?m)^#.*\n", "", text)
        self.check(bare)
        everything = re.sub(r"(?m)^#(?=\S|  \S)", "", text)
        self.assertIn("\n  tls: {certificate: ", everything)
        self.check(everything)

    def test_unit_and_configuration_name_the_same_places(self):
        text = (SYSTEMD.parent / "hatrpcd.yaml").read_text()
        unit = (SYSTEMD / "hatrpcd.service").read_text()
        self.assertIn("socket: /run/hatrpcd/admin.sock", text)
        self.assertRegex(unit, r"(?m)^RuntimeDirectory=hatrpcd$")
        self.assertRegex((SYSTEMD / "hatrpcd.tmpfiles").read_text(), r"(?m)^d /run/hatrpcd 0755 hatrpcd hatrpcd -$")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
