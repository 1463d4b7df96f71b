# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/configmap_test.py: changes manifests and certificates as kubelet changes a mounted volume."""

import itertools
import os
import pathlib
import re
import shutil

from setting import PROGRAMS, Client, Scenario, main, manifest, start_server
from nodes import TwoNodes, ask, hatrpc_address, wait_until
from reload_test import Load
from tls_test import WAIT_S, TlsNodes, fingerprint, make_certificates


class Volume:
    """A folder whose files change as kubelet changes the files of a volume (pkg/volume/util/atomic_writer.go).

    Each revision of the files is in a folder of its own. `..data` is a symbolic link to the current revision's folder,
    and the files that programs open are symbolic links through `..data`. To change the files, kubelet renames a new
    link to `..data`.
    """

    def __init__(self, folder, mode=0o644):
        self.folder = pathlib.Path(folder)
        self.mode = mode
        self.numbers = itertools.count(1)

    def write(self, files):
        data = self.folder / "..data"
        old = os.readlink(data) if data.is_symlink() else None
        new = f"..2026_11_22_16_00_00.{next(self.numbers):09}"
        (self.folder / new).mkdir()
        for name, text in files.items():
            file = self.folder / new / name
            file.write_text(text)
            file.chmod(self.mode)
            os.utime(file, (1_700_000_000, 1_700_000_000))  # all revisions have the same time, so it shows no change
        os.symlink(new, self.folder / "..data_tmp")
        os.rename(self.folder / "..data_tmp", data)
        for name in files:
            if not (self.folder / name).is_symlink():
                os.symlink(f"..data/{name}", self.folder / name)
        for link in self.folder.iterdir():
            if not link.name.startswith("..") and link.name not in files:
                link.unlink()
        if old is not None:
            shutil.rmtree(self.folder / old)


class ConfigMap(Scenario):
    def setUp(self):
        server = start_server()
        self.addCleanup(server.stop)
        self.text = manifest()
        self.nodes = TwoNodes(PROGRAMS, self.text, {"Probe": hatrpc_address(server.addresses[0])})
        self.nodes.manifest.unlink()
        self.volume = Volume(self.nodes.manifest.parent)
        self.volume.write({"probe.yaml": self.text})

    def plan(self):
        return next(f["client"]["plan"] for s in self.nodes.a.get("/routes")["services"]
                    for f in s["functions"] if f["method"] == "add")

    def metric(self, name):
        found = re.search(rf"^{name} (\S+)$", ask(self.nodes.a.admin, "GET", "/metrics")[1], re.M)
        return float(found[1])

    def revise(self, goal, **more):
        self.volume.write({"probe.yaml": self.text.replace("perf_goal: latency", f"perf_goal: {goal}"),
                           **more})

    def wait_until(self, what, holds):
        wait_until(f"{what}; the log: {self.nodes.a.log()[-2000:]}", holds, seconds=30)

    def test_each_revision_is_taken_by_itself(self):
        with self.nodes, Client(self.nodes) as calls:
            first = self.plan()
            for goal in ("res_util", "latency"):
                before = self.plan()
                self.revise(goal)
                self.wait_until(f"{goal} was taken", lambda: self.plan() != before)
                self.assertEqual(calls.add(20, 3), 23)  # the connection was made before the change
            self.assertEqual(self.plan(), first)

    def test_a_bad_revision_is_told_and_the_one_before_goes_on(self):
        with self.nodes, Client(self.nodes) as calls:
            before = self.plan()
            self.assertEqual(self.metric("hatrpc_config_last_reload_successful"), 1)
            self.revise("lightning")
            self.wait_until("the bad revision was seen",
                            lambda: self.metric("hatrpc_config_last_reload_successful") == 0)
            self.assertRegex(self.nodes.a.log(), r"(?s)reload refused.*perf_goal: 'lightning'")
            self.assertEqual(self.plan(), before)
            self.assertEqual(calls.add(20, 3), 23)
            self.revise("res_util")
            self.wait_until("the good revision was taken", lambda: self.plan() != before)
            self.assertEqual(self.metric("hatrpc_config_last_reload_successful"), 1)

    def test_keys_come_and_go(self):
        other = "hatrpc_manifest: 1\nservices: {Other: {}}\n"

        def names():
            return {s["service"] for s in self.nodes.a.get("/routes")["services"]}

        with self.nodes:
            self.assertNotIn("Other", names())
            self.revise("latency", **{"other.yaml": other})
            self.wait_until("the new file was taken", lambda: "Other" in names())
            self.revise("latency")
            self.wait_until("the file's removal was seen", lambda: "Other" not in names())


class Secret(TlsNodes):
    """Nodes that use one certificate, from a Kubernetes Secret with cert-manager's file names, as in deploy/k8s."""

    KEYS = {"tls.crt": "hatrpcd.pem", "tls.key": "hatrpcd.key", "ca.crt": "ca.pem"}
    NAME = "spiffe://hatrpc.test/hatrpcd"

    def setUp(self):
        super().setUp()
        self.volume = Volume(self.folder / "mounted", mode=0o440)
        self.volume.folder.mkdir()
        self.renew()

    def renew(self):
        """Replaces the certificate and the key by new ones that the same CA has signed."""
        made = self.folder / "one"
        make_certificates(made, "hatrpcd")
        self.volume.write({key: (made / file).read_text(encoding="ascii") for key, file in self.KEYS.items()})

    def shared(self):
        at = self.volume.folder
        return {"tls": {"certificate": str(at / "tls.crt"), "key": str(at / "tls.key"), "ca": str(at / "ca.crt"),
                        "allow": [self.NAME]}}

    def serials(self, nodes):
        return [node.get("/certificates")[0]["serial"] for node in (nodes.a, nodes.b)]

    def test_new_certificates_are_taken_by_themselves_and_no_call_fails(self):
        with self.nodes(self.shared(), self.shared(), identity=self.NAME) as nodes:
            self.await_up(nodes)
            load = Load(nodes, clients=3)
            try:
                for _ in range(2):
                    before = self.serials(nodes)
                    self.renew()
                    wait_until("both nodes have the new one", lambda: all(
                        new != old for new, old in zip(self.serials(nodes), before)), WAIT_S)
                    self.assertEqual(self.stranger(nodes, "one/hatrpcd"),
                                     fingerprint(self.volume.folder / "tls.crt"))
                    calls = load.calls
                    wait_until("further calls succeed", lambda: load.failed or load.calls > calls + 10, WAIT_S)
            finally:
                load.end()
            self.assertEqual(load.failed, [])
            for node in (nodes.a, nodes.b):
                self.assertNotIn("reload refused", node.log())
                self.assertNotIn("can be read by every user", node.log())

    def test_a_bad_secret_is_told_and_the_one_before_goes_on(self):
        with self.nodes(self.shared(), self.shared(), identity=self.NAME) as nodes:
            self.await_up(nodes)
            before = self.serials(nodes)
            one = self.folder / "one"
            good = {key: (one / file).read_text(encoding="ascii") for key, file in self.KEYS.items()}
            self.volume.write(good | {"tls.key": (one / "host-a.key").read_text(encoding="ascii")})
            wait_until("both nodes have refused it", lambda: all(
                self.metric(node, "hatrpc_config_last_reload_successful") == 0
                for node in (nodes.a, nodes.b)), WAIT_S)
            self.assertIn("does not belong to certificate", nodes.b.log())
            self.assertEqual(self.serials(nodes), before)
            with Client(nodes) as calls:
                self.assertEqual(calls.add(20, 3), 23)
            self.renew()
            wait_until("both nodes have the next good certificate", lambda: all(
                new != old for new, old in zip(self.serials(nodes), before)), WAIT_S)


if __name__ == "__main__":
    main()
