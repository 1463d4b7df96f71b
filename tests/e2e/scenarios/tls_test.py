# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/tls_test.py: links with TLS: accepted peers, refused peers and the reasons, and rotation."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

from setting import PROGRAMS, Client, Scenario, main, probe_nodes
from certificates import revoke
from nodes import ask, wait_until
from reload_test import Load

WAIT_S = 30  # long enough on a busy machine: a handshake takes milliseconds
LIMITS = {"connect_timeout": "20s"}


def make_certificates(folder, *nodes, days=1):
    subprocess.run([PROGRAMS / "hatctl", "certs", "make", folder, *nodes, "--days", str(days)],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def make_certificate_of_tomorrow(folder, node):
    """Replaces the certificate of `node` by a certificate that is not valid before the year 2099."""
    (folder / "database").touch()
    (folder / "openssl.cnf").write_text(f"""
[ca]
default_ca = tomorrow
[tomorrow]
database = {folder}/database
new_certs_dir = {folder}
certificate = {folder}/ca.pem
private_key = {folder}/ca.key
rand_serial = yes
unique_subject = no
default_md = sha256
policy = names
x509_extensions = extensions
[names]
commonName = supplied
[extensions]
subjectAltName = DNS:{node}, URI:spiffe://hatrpc.test/{node}
""", encoding="ascii")
    request = folder / "request"
    for words in (["req", "-new", "-key", folder / f"{node}.key", "-subj", f"/CN={node}", "-out", request],
                  ["ca", "-config", folder / "openssl.cnf", "-batch", "-notext", "-in", request, "-out",
                   folder / f"{node}.pem", "-startdate", "20990101000000Z", "-enddate", "20991231000000Z"]):
        subprocess.run(["openssl", *words], capture_output=True, check=True, timeout=WAIT_S)


def client_hello():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    said = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), said).do_handshake()
    return said.read()


# A program that keeps 100 connections open, each of which begins a TLS handshake. When a connection is answered, the
# program prints a dot, resets the connection (so that its port is free at once), and opens another connection.
FLOOD = """
import contextlib, select, socket, struct, sys
said, poll, opened = bytes.fromhex(sys.argv[2]), select.epoll(), {}

def begin():
    one = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.sendall(said)
    poll.register(one, select.EPOLLIN)
    opened[one.fileno()] = one

for _ in range(100):
    begin()
while True:
    for number, _ in poll.poll():
        with contextlib.suppress(OSError), opened.pop(number) as one:
            if one.recv(1) == bytes([22]):
                print(end=".", flush=True)
        begin()
"""


@contextlib.contextmanager
def flood(port, said):
    """Runs the program FLOOD. Yields a function that ends it and returns how many connections were answered."""
    with tempfile.TemporaryFile() as answered:
        process = subprocess.Popen([sys.executable, "-c", FLOOD, str(port), said.hex()], stdout=answered)

        def end():
            process.kill()
            process.wait()
            return answered.seek(0, os.SEEK_END)

        try:
            yield end
        finally:
            end()


def fingerprint(file):
    return ssl.PEM_cert_to_DER_cert(pathlib.Path(file).read_text(encoding="ascii"))


class TlsNodes(Scenario):
    """Base class of tests whose nodes use certificates of a CA that the test makes."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hatrpc-tls-"))
        self.addCleanup(shutil.rmtree, self.folder)
        make_certificates(self.folder / "one", "host-a", "host-b")

    def files(self, node, authority="one"):
        """Returns the paths of the node's certificate and key (`node`: "one/host-a"), and of the CA to trust."""
        return {"certificate": str(self.folder / f"{node}.pem"),
                "key": str(self.folder / f"{node}.key"),
                "ca": str(self.folder / authority / "ca.pem")}

    def tls(self, node, authority="one", **more):
        return {"tls": {**self.files(node, authority), **more}}

    @contextlib.contextmanager
    def nodes(self, a=None, b=None, limits=None, **more):
        links = {"host-a": a or self.tls("one/host-a"), "host-b": b or self.tls("one/host-b")}
        with probe_nodes(links=links, limits=limits or LIMITS, **more) as nodes:
            yield nodes

    def stranger(self, nodes, node=None, version=None):
        """Connects to host-b's link as a TLS client; returns host-b's certificate, or raises an error."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(self.folder / "one" / "ca.pem")
        if node:
            context.load_cert_chain(self.folder / f"{node}.pem", self.folder / f"{node}.key")
        if version:
            context.maximum_version = version
        with socket.create_connection(("127.0.0.1", nodes.link), timeout=WAIT_S) as plain:
            with context.wrap_socket(plain) as connection:
                if node is None:  # TLS 1.3 sends the alert about a missing certificate after the handshake
                    connection.recv(1)
                return connection.getpeercert(binary_form=True)

    def metric(self, node, name):
        text = ask(node.admin, "GET", "/metrics")[1]
        return sum(float(value) for value in re.findall(rf"(?m)^{re.escape(name)} (\S+)$", text))

    def failures(self, node, reason):
        return self.metric(node, f'hatrpc_tls_handshake_failures_total{{reason="{reason}"}}')

    def hatctl(self, node, *words):
        return subprocess.run([PROGRAMS / "hatctl", "--socket", node.admin, *words], text=True,
                              capture_output=True, check=False, timeout=WAIT_S)

    def await_up(self, nodes):
        wait_until(f"the link is up; {nodes.a.log()[-2000:]}",
                   lambda: nodes.a.get("/status")["links"][0]["up"], WAIT_S)


class Tls(TlsNodes):
    def test_calls_travel_and_everyone_knows_who_is_there(self):
        with self.nodes(b=self.tls("one/host-b", allow=["spiffe://hatrpc.test/host-a"]),
                        identity="spiffe://hatrpc.test/host-b") as nodes:
            with Client(nodes) as calls:
                for i in range(100):
                    self.assertEqual(calls.add(i, 1), i + 1)
                self.assertEqual(len(calls.produce(1 << 20)), 1 << 20)
                self.assertEqual(calls.consume(bytes(1 << 20)), 1 << 20)
            status = nodes.a.get("/status")
            self.assertEqual(status["link_security"], "tls")
            self.assertEqual(status["links"][0]["peer_names"],
                             ["host-b", "spiffe://hatrpc.test/host-b"])
            self.assertIn("as host-a, spiffe://hatrpc.test/host-a", nodes.b.log())
            for node in (nodes.a, nodes.b):
                self.assertNotIn("insecure", node.log())
                self.assertGreaterEqual(self.metric(node, "hatrpc_tls_handshakes_total"), 1)
                self.assertEqual(self.metric(node, "hatrpc_insecure_links"), 0)
            certs = self.hatctl(nodes.b, "certs")
            self.assertEqual(certs.returncode, 0, certs.stderr)
            self.assertIn("name         spiffe://hatrpc.test/host-b\n", certs.stdout)

    def test_an_insecure_link_is_said_aloud(self):
        with probe_nodes() as nodes:
            for node in (nodes.a, nodes.b):
                self.assertIn("links are insecure", node.log())
                self.assertEqual(self.metric(node, "hatrpc_insecure_links"), 1)
                self.assertEqual(node.get("/status")["link_security"], "insecure")
                self.assertIn("links        insecure", self.hatctl(node, "status").stdout)
            self.assertIn("have no TLS", self.hatctl(nodes.a, "certs").stdout)

    def test_who_is_not_right_is_refused_and_both_sides_say_why(self):
        make_certificates(self.folder / "two", "host-a", "host-b")
        make_certificates(self.folder / "one", "host-x", days=0)
        make_certificates(self.folder / "one", "host-y")
        make_certificate_of_tomorrow(self.folder / "one", "host-y")
        insecure = {"insecure": True}
        # The values of each row: the key `link` of host-a and of host-b; the texts in host-a's status and in host-b's
        # log; the reasons under which host-a and host-b count the failure.
        rows = {
            "another CA's caller": (
                self.tls("two/host-a"), None, "refuses this node's certificate: unknown ca",
                "unable to get local issuer certificate", "refused", "untrusted"),
            "another CA's server": (
                None, self.tls("two/host-b"), "unable to get local issuer certificate",
                "refuses this node: unknown ca", "untrusted", "refused"),
            "a caller that has expired": (
                self.tls("one/host-x"), None, "refuses this node's certificate: certificate expired",
                "certificate has expired", "refused", "expired"),
            "a server that has expired": (
                None, self.tls("one/host-x"), "certificate has expired",
                "refuses this node: certificate expired", "expired", "refused"),
            "a caller that is not valid yet": (
                self.tls("one/host-y"), None, "refuses this node's certificate: ",
                "certificate is not yet valid", "refused", "expired"),
            "a server that is not valid yet": (
                None, self.tls("one/host-y"), "certificate is not yet valid",
                "refuses this node: ", "expired", "refused"),
            "a server of another name": (
                None, self.tls("one/host-a"), "names host-a, spiffe://hatrpc.test/host-a; this "
                "peer must be host-b", "refuses this node", "not_allowed", "refused"),
            "a caller that is not allowed": (
                None, self.tls("one/host-b", allow=["host-c"]), "its link.tls.allow has none",
                "link.tls.allow has host-c", "refused", "not_allowed"),
            "an insecure caller": (
                insecure, None, "the peer speaks TLS, and this node's link does not",
                "the peer does not speak TLS", None, "not_tls"),
            "an insecure server": (
                None, insecure, "closed the connection in the handshake: check that its link has `tls`",
                "the peer speaks TLS, and this node's link does not", "closed", None),
        }
        for name, (a, b, a_says, b_says, a_counts, b_counts) in rows.items():
            with self.subTest(name), self.nodes(a, b) as nodes:
                wait_until(f"host-a says '{a_says}'; its log: {nodes.a.log()[-2000:]}",
                           lambda says=a_says: says in nodes.a.get("/status")["links"][0]["last_error"],
                           WAIT_S)
                wait_until(f"host-b says '{b_says}'", lambda says=b_says: says in nodes.b.log(), WAIT_S)
                for node, reason in ((nodes.a, a_counts), (nodes.b, b_counts)):
                    if reason:
                        self.assertGreaterEqual(self.failures(node, reason), 1, reason)
                with Client(nodes, timeout_ms=WAIT_S * 1000) as calls:
                    error = self.assert_fails(lambda calls=calls: calls.add(1, 2), "peer_unreachable")
                    self.assertIn("host-b", error.message)

    def test_strangers_are_refused(self):
        with self.nodes() as nodes:
            self.await_up(nodes)
            with self.assertRaises((ssl.SSLError, ConnectionError)):
                self.stranger(nodes)
            wait_until("host-b has said why", lambda: "showed no certificate" in nodes.b.log(), WAIT_S)
            time.sleep(1.1)  # the daemon logs at most one such line a second
            for _ in range(20):
                with self.assertRaises(ssl.SSLError):
                    self.stranger(nodes, "one/host-a", ssl.TLSVersion.TLSv1_2)
            wait_until("host-b has said why", lambda: "does not speak TLS 1.3" in nodes.b.log(), WAIT_S)
            self.assertEqual(self.failures(nodes.b, "no_certificate"), 1)
            self.assertEqual(self.failures(nodes.b, "version"), 20)
            self.assertLess(nodes.b.log().count("does not speak TLS 1.3"), 20)
            with Client(nodes) as calls:
                self.assertEqual(calls.add(1, 2), 3)

    def test_who_says_nothing_is_dropped_and_others_get_in_meanwhile(self):
        with self.nodes(limits={"connect_timeout": "3s"}) as nodes, contextlib.ExitStack() as stack:
            self.await_up(nodes)
            silent = [stack.enter_context(socket.create_connection(("127.0.0.1", nodes.link), timeout=WAIT_S))
                      for _ in range(20)]
            for one in silent[::2]:
                one.sendall(client_hello()[:100])
            self.assertEqual(self.stranger(nodes, "one/host-a"),
                             fingerprint(self.folder / "one" / "host-b.pem"))
            with Client(nodes) as calls:
                self.assertEqual(calls.add(1, 2), 3)
            for one in silent:
                with contextlib.suppress(ConnectionError):  # RST, if the daemon had not read all bytes
                    self.assertEqual(one.recv(1), b"")
            wait_until("host-b has counted each", lambda: self.failures(nodes.b, "unfinished") >= len(silent), WAIT_S)
            self.assertIn("the peer sent no hello within the time-out", nodes.b.log())
            self.assertTrue(nodes.a.get("/status")["links"][0]["up"])

    def median_call_s(self, nodes, seconds=2):
        times, end = [], time.monotonic() + seconds
        with Client(nodes) as calls:
            while (began := time.monotonic()) < end:
                self.assertEqual(calls.add(len(times), 1), len(times) + 1)
                times.append(time.monotonic() - began)
                time.sleep(0.002)  # leaves processor time to the flood
        return statistics.median(times)

    def processor_share(self, node, seconds=2):
        """Returns the processor time that a node's daemon uses, as a share of one processor."""
        def used():
            fields = pathlib.Path(f"/proc/{node.process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        before, began = used(), time.monotonic()
        time.sleep(seconds)
        return (used() - before) / (time.monotonic() - began)

    def test_a_flood_of_handshakes_delays_calls_little(self):
        with self.nodes() as nodes:
            self.await_up(nodes)
            calm = self.median_call_s(nodes)
            with flood(nodes.link, client_hello()) as end:
                share = self.processor_share(nodes.b)
                under = self.median_call_s(nodes)
                answered = end()
            print(f"median call: {calm * 1e6:.0f} us, and {under * 1e6:.0f} us beside {answered} handshakes, which "
                  f"took {share:.2f} of a processor", file=sys.stderr)
            self.assertGreater(answered, 50)
            # Check the daemon's processor time, and not the time of a call, which other programs on the machine affect.
            # The share would be 0.98 if the daemon did not limit the handshakes' part of its time.
            self.assertLess(share, 0.5, "a quarter for the handshakes' work, and accepting connections")
            self.assertTrue(nodes.a.get("/status")["links"][0]["up"])
            self.assertEqual(nodes.a.get("/status")["links"][0]["sessions"], 1, "the link is still the first one")

    def test_files_that_cannot_be_used_end_the_start_in_words(self):
        make_certificates(self.folder / "two", "host-b")
        one, two = self.files("one/host-b"), self.files("two/host-b", "two")
        for name, files, why in (
                ("no certificate", {"certificate": str(self.folder / "none.pem")}, "No such file"),
                ("no key", {"key": str(self.folder / "none.key")}, "No such file"),
                ("no CA", {"ca": str(self.folder / "none.pem")}, "No such file"),
                ("another's key", {"key": two["key"]}, "does not belong to certificate"),
                ("a CA that is none", {"ca": one["key"]}, f"ca {one['key']}")):
            with self.subTest(name):
                config = self.folder / "hatrpcd.yaml"
                config.write_text(json.dumps({"node": "host-b", "manifests": [], "link": {
                    "listen": "tcp:127.0.0.1:0", "tls": {**one, **files}}}), encoding="utf-8")
                for words in (["--check"], []):
                    done = subprocess.run([PROGRAMS / "hatrpcd", *words, "--config", config], text=True,
                                          capture_output=True, check=False, timeout=WAIT_S)
                    self.assertEqual(done.returncode, 78, done.stderr)
                    self.assertIn(why, done.stdout + done.stderr)

    def test_certificates_change_under_load_and_no_call_fails(self):
        with self.nodes() as nodes:
            self.await_up(nodes)
            self.assertEqual(self.stranger(nodes, "one/host-a"),
                             fingerprint(self.folder / "one" / "host-b.pem"))
            load = Load(nodes, clients=2)
            try:
                for _ in range(3):
                    make_certificates(self.folder / "one", "host-a", "host-b")
                    for node in (nodes.a, nodes.b):
                        status, body = ask(node.admin, "POST", "/reload")
                        self.assertEqual(status, 200, body)
                    self.assertEqual(self.stranger(nodes, "one/host-a"),
                                     fingerprint(self.folder / "one" / "host-b.pem"))
            finally:
                load.end()
            self.assertEqual(load.failed, [])
            self.assertGreater(load.calls, 10)
            # After the restart of host-b, the new link uses the new certificates.
            self.assertEqual(nodes.b.stop(), 0)
            nodes.b.start()
            self.await_up(nodes)
            with Client(nodes) as calls:
                self.assertEqual(calls.add(1, 2), 3)

    def test_rules_of_who_may_call_are_tried_then_enforced(self):
        with self.nodes(modes={"Probe": {"thrift_transport": "framed", "thrift_protocol": "binary"}}) as nodes:
            good = nodes.manifest.read_text()
            before, service, functions = good.partition("  Probe:\n")
            first = before + service + functions.replace(
                "      add:\n", "      add:\n        allow: [host-x]\n        allow_mode: dry_run\n", 1)
            self.assertNotEqual(first, good)
            denied = ('hatrpc_authz_denied_total{mode="%s",thrift_method="add",thrift_service="Probe"}')

            def use(manifest):
                nodes.manifest.write_text(manifest)
                for node in (nodes.a, nodes.b):
                    status, body = ask(node.admin, "POST", "/reload")
                    self.assertEqual(status, 200, body)

            with Client(nodes) as calls:
                use(first)
                self.assertEqual(calls.add(1, 2), 3)
                self.assertEqual(self.metric(nodes.b, denied % "dry_run"), 1)
                use(first.replace("dry_run", "enforce"))
                error = self.assert_fails(lambda: calls.add(1, 2), "permission_denied")
                self.assertIn("peer host-a is restricted since `allow` has changed", error.message)
            with Client(nodes) as calls:
                error = self.assert_fails(lambda: calls.add(1, 2), "permission_denied")
                self.assertIn("peer host-a may not call it", error.message)
                self.assertEqual(self.metric(nodes.b, denied % "enforce"), 2)
                self.assertEqual(calls.consume(bytes(1000)), 1000, "other functions of the service must still work")
                use(first.replace("dry_run", "enforce").replace("host-x", "spiffe://hatrpc.test/*"))
                self.assertEqual(calls.add(1, 2), 3)
                self.assertEqual(len(calls.produce(1 << 20)), 1 << 20, "large replies must work too")
                self.assertEqual(calls.consume(bytes(1 << 20)), 1 << 20)

    def test_a_revoked_certificate_ends_its_link_and_opens_no_more(self):
        revoke(self.folder / "one")
        with self.nodes(b=self.tls("one/host-b", crl=str(self.folder / "one" / "crl.pem"))) as nodes:
            self.await_up(nodes)
            revoke(self.folder / "one", "host-a")
            status, body = ask(nodes.b.admin, "POST", "/reload")
            self.assertEqual(status, 200, body)
            self.assertIn("crl.pem has new revocation lists; links of peers whose certificates they revoke end", body)
            self.assertIn("a list of revoked certificates", self.hatctl(nodes.b, "certs").stdout)
            wait_until("host-a's link ends", lambda: "its link to this node ended: TLS: the peer's certificate "
                       "has been revoked" in nodes.b.log(), WAIT_S)
            with Client(nodes) as calls:
                self.assert_fails(lambda: calls.add(1, 2), "peer_unreachable")
            wait_until("host-b refuses host-a", lambda: self.metric(
                nodes.b, 'hatrpc_tls_handshake_failures_total{reason="revoked"}') > 1, WAIT_S)
            wait_until("host-a says why", lambda: "refuses this node's certificate: certificate revoked" in
                       self.hatctl(nodes.a, "status").stdout, WAIT_S)

    def test_changed_files_are_noticed_and_wrong_ones_are_refused(self):
        with self.nodes() as nodes:
            self.await_up(nodes)
            before = nodes.b.get("/certificates")[0]["serial"]
            make_certificates(self.folder / "one", "host-b")
            wait_until("host-b uses the new certificate", lambda: nodes.b.get("/certificates")[0]["serial"] !=
                       before, WAIT_S)
            taken = nodes.b.get("/certificates")[0]["serial"]
            draft = self.folder / "draft"
            shutil.copy(self.folder / "one" / "host-a.key", draft)
            os.replace(draft, self.folder / "one" / "host-b.key")
            status, body = ask(nodes.b.admin, "POST", "/reload")
            self.assertEqual(status, 409)
            self.assertIn("does not belong to certificate", body)
            self.assertEqual(nodes.b.get("/certificates")[0]["serial"], taken)
            with Client(nodes) as calls:
                self.assertEqual(calls.add(1, 2), 3)


if __name__ == "__main__":
    main()
