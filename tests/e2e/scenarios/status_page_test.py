# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/status_page_test.py: opens the status page in a browser, with live data, with hostile data, and
after the daemon has ended."""

import contextlib
import http.server
import json
import signal
import threading
import time
import urllib.request

from setting import PROGRAMS, Client, Scenario, main, probe_nodes
from browser import Browser
from certificates import Certificates
from nodes import wait_until
from selenium.webdriver.common.keys import Keys

WAIT = 60  # seconds; each wait takes two or three seconds on an idle machine
EVIL = "<img src=x onerror=\"window.broken='img'\"><script>window.broken='script'</script>\"'&lt;"
MARKUP = {"img", "script", "iframe", "object", "a", "form"}


class Load:
    """A client that makes each call as soon as the last one is answered. A context manager."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.going = True
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.going = False
        self.thread.join()

    def run(self):
        while self.going:
            with contextlib.suppress(Exception), Client(self.nodes) as calls:  # the page shows what fails
                while self.going:
                    calls.add(1, 2)
            time.sleep(0.05)


def evil(value, key=""):
    """Returns the JSON value with HTML markup added to every text, and to those keys that the daemon's tables name."""
    if key == "successful":
        return False  # makes the page show the error text
    if isinstance(value, str):
        return value if key in ("side", "use", "link_security") else EVIL + value
    if isinstance(value, list):
        return [evil(one) for one in value]
    if isinstance(value, dict):
        named = key in ("fallbacks", "local_replies")
        return {EVIL + name if named else name: evil(one, name) for name, one in value.items()}
    return value


class EvilDaemon:
    """An HTTP proxy to a daemon that adds markup to all JSON, and removes the page's Content-Security-Policy.

    A context manager.
    """

    def __init__(self, address):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                request = urllib.request.Request(f"http://{address}{self.path}", headers={"Accept": "text/html"})
                with opener.open(request, timeout=30) as answer:
                    kind, body = answer.headers["Content-Type"], answer.read()
                if kind == "application/json":
                    body = json.dumps(evil(json.loads(body))).encode()
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class StatusPage(Scenario):
    @classmethod
    def setUpClass(cls):
        cls.browser = cls.enterClassContext(Browser())

    def row(self, section, **wanted):
        """Returns the first row of the section's table that has the cells `wanted`, or {} if there is none."""
        return next((row for row in self.browser.table(section)
                     if all(row[key] == value for key, value in wanted.items())), {})

    def calls_per_second(self, function="Probe.add"):
        text = self.row("rates", Function=function, Side="client").get("Calls/s", "–")
        return float(text.replace("k", "e3").replace("–", "nan"))

    def wait_until(self, what, holds):
        wait_until(what, holds, WAIT)

    def test_shows_what_happens(self):
        with probe_nodes(http=True) as nodes:
            self.browser.open(nodes.a.http)
            with Load(nodes):
                self.wait_until("the page shows calls", lambda: self.calls_per_second() > 1)
                first = self.calls_per_second()
                self.wait_until("their rate changes", lambda: self.calls_per_second() != first)
                self.wait_until("the page shows that calls use RDMA", lambda: "by direct_write_imm" in
                                self.row("plans", Function="Probe.add")["Carried"])
                self.wait_until("the page shows slow calls", lambda: self.row("slow", Function="Probe.add"))
                self.assertEqual(self.row("slow", Function="Probe.add")["Peer"], "host-b")
                self.assertIn("/s", self.browser.js("document.querySelector('.tile .value').textContent"))
            self.wait_until("the page shows that calls have ended", lambda: self.calls_per_second() == 0)
            self.assertEqual(self.browser.js("document.getElementById('node').textContent"), "host-a")
            self.assertEqual(self.browser.js("document.getElementById('state').textContent"), "ready")
            self.assertEqual(self.row("links", Peer="host-b")["State"], "up")
            self.assertEqual(self.row("misses", Function="Probe.add")["Reason"], "opening")
            functions = {row["Function"] for row in self.browser.table("plans")}
            called = {row["Function"] for row in self.browser.table("rates")}
            self.assertEqual(self.browser.js("document.getElementById('rates-rest').textContent"),
                             f"{len(functions - called)} never called")
            plan = self.row("plans", Function="Probe.add")
            self.assertIn("direct_write_imm", plan["Plan"])
            self.assertIn("perf_goal=latency", plan["Why"])
            self.assertIn("probe.thrift", plan["Why"])
            self.assertIn(nodes.endpoints["Probe"], [row["Address"] for row in self.browser.table("places")])
            self.assertEqual(self.browser.complaints(), [])

    def test_shows_hints_that_the_calls_contradict(self):
        with probe_nodes(http=True) as nodes, Client(nodes) as calls:
            for _ in range(250):
                self.assertEqual(len(calls.produce(10)), 10)
            self.browser.open(nodes.a.http)
            self.wait_until("the page proposes another hint", lambda: self.row("advice", Function="Probe.produce"))
            advice = self.row("advice", Function="Probe.produce")
            self.assertEqual(advice["Change"], "s_hint: payload_size 1MiB → 64B")
            self.assertEqual(advice["Seen"], "99% of 250 replies have at most 64B")
            self.assertEqual(self.browser.complaints(), [])

    @contextlib.contextmanager
    def nodes_with_tls(self):
        """Starts two nodes with TLS; yields the nodes and their certificates."""
        with Certificates(PROGRAMS, "host-a", "host-b") as certificates:
            with probe_nodes(http=True, links={node: certificates.tls(node) for node in certificates.nodes}) as nodes:
                yield nodes, certificates

    def fact(self, name):
        """Returns the value that the head of the page shows for `name`."""
        return self.browser.js("[...document.querySelectorAll('#about div')].find("
                               f"(fact) => fact.firstChild.textContent === '{name}')?.lastChild.textContent")

    def test_says_aloud_that_links_are_insecure(self):
        with probe_nodes(http=True) as nodes:
            self.browser.open(nodes.a.http)
            self.wait_until("the page warns of it", lambda: "Links are insecure" in self.notices())
            self.assertIn("neither authenticated nor encrypted", self.fact("links"))
            self.wait_until("the page says that the peer proves nothing",
                            lambda: self.row("links", Peer="host-b", State="up").get("Identity") == "proves nothing")
            self.assertEqual(self.browser.complaints(), [])

    def test_shows_who_peers_are_and_that_a_certificate_ends(self):
        with self.nodes_with_tls() as (nodes, certificates):
            self.browser.open(nodes.a.http)
            self.wait_until("the page names the peer", lambda: self.row("links", Peer="host-b").get("Identity") ==
                            "host-b\nspiffe://hatrpc.test/host-b")
            self.assertRegex(self.fact("links"), r"^TLS 1\.3, certificate good until \d{4}-\d\d-\d\d \d\d:\d\d UTC$")
            self.assertEqual(self.notices(), "", "a CA of ten years and a certificate of a day need no warning")
            certificates.make_for("host-a", seconds_before=50 * 60, seconds_left=10 * 60)
            self.wait_until("the page warns before the end", lambda:
                            "certificate (CN=host-a) ends soon, at " in self.notices())
            certificates.make("host-a", days=0)
            self.wait_until("the page warns of the end", lambda:
                            "certificate (CN=host-a) has expired, at " in self.notices())
            self.assertEqual(self.row("links", Peer="host-b")["State"], "up", "a link that is up must stay up")
            certificates.make("host-a")
            self.wait_until("the page warns no longer", lambda: self.notices() == "")
            self.assertEqual(self.browser.complaints(), [])

    def test_shows_what_is_broken_and_that_it_is_mended(self):
        with self.nodes_with_tls() as (nodes, _):
            self.browser.open(nodes.a.http)
            self.wait_until("the link is up", lambda: self.row("links", Peer="host-b", State="up"))
            nodes.b.stop(signal.SIGKILL)
            with Load(nodes):
                self.wait_until("the link is down", lambda: self.row("links", Peer="host-b", State="down"))
                self.assertNotEqual(self.row("links", Peer="host-b")["Last error"], "")
                self.wait_until("calls fail", lambda: self.row("replies", Answer="peer_unreachable"))
            self.assertIn("no link", self.row("replies", Answer="peer_unreachable")["Meaning"])

            good = nodes.manifest.read_text(encoding="utf-8")
            nodes.manifest.write_text(good.replace("perf_goal: latency", "perf_goal: <b>"), encoding="utf-8")
            self.wait_until("the reload is refused", lambda: "perf_goal: '<b>'" in self.notices())
            nodes.manifest.write_text(good, encoding="utf-8")
            self.wait_until("the reload is applied", lambda: self.notices() == "")

            self.assertEqual(nodes.a.stop(), 0)
            self.wait_until("the page says that the daemon is gone", lambda: "does not answer" in self.notices())
            self.assertIn("host-a does not answer", self.browser.js("document.title"))
            self.assertTrue(self.row("links", Peer="host-b"), "the page must keep what it has shown")
            nodes.b.start()
            nodes.a.start()
            self.wait_until("the page shows both daemons again", lambda:
                            self.notices() == "" and self.row("links", State="up"))
            self.assertEqual(self.browser.complaints(), [])

    def notices(self):
        return self.browser.js("document.getElementById('notices').textContent")

    def test_text_from_the_daemon_is_never_markup(self):
        with self.nodes_with_tls() as (nodes, certificates), Client(nodes) as calls:
            certificates.make("host-a", days=0)
            for number in range(250):  # enough for a proposal of another payload_size
                self.assertEqual(calls.add(number, 1), number + 1)
                self.assertEqual(len(calls.produce(10)), 10)
            self.wait_until("host-a has an RDMA lane", lambda: nodes.a.get("/status")["links"][0]["lanes"])
            with EvilDaemon(nodes.a.http) as between:
                self.browser.open(between.address)
                self.wait_until("a notice is shown", lambda: "CN=host-a" in self.notices())
                for section in ("rates", "links", "lanes", "misses", "plans", "advice", "places"):
                    self.wait_until(f"{section} are shown", lambda: any(
                        EVIL in cell for row in self.browser.table(section) for cell in row.values()))
                self.assertIn(EVIL, self.browser.js("document.getElementById('about').textContent"))
                self.assertIn(EVIL, self.browser.js("document.title"))
                self.assertIn(f"({EVIL}CN=host-a)", self.notices())
                self.assertIn(f"\n{EVIL}spiffe://", self.browser.table("links")[0]["Identity"])
                self.assertIsNone(self.browser.js("window.broken"))
                found = set(self.browser.js(
                    "[...document.querySelectorAll('header *, main *, #notices *')].map((e) => e.localName)"))
                self.assertEqual(found & MARKUP, set())
                self.assertEqual(self.browser.complaints(), [])
                self.browser.driver.get("about:blank")  # the page must stop its requests before the proxy ends

    def test_its_policy_stops_what_is_not_its_own(self):
        with probe_nodes(http=True) as nodes:
            self.browser.open(nodes.a.http)
            self.addCleanup(self.browser.complaints)  # drops the console's messages about the blocked scripts
            for way in ("document.body.innerHTML += \"<img src=x onerror='window.broken=1'>\"",
                        "document.body.append(Object.assign(document.createElement('script'), {text: 'broken=1'}))"):
                with self.subTest(way):
                    self.browser.driver.execute_script(
                        f"window.stopped = false; try {{ {way} }} catch {{ window.stopped = true }}")
                    self.assertTrue(self.browser.js("window.stopped"))
            self.assertIsNone(self.browser.js("window.broken"))

    def test_serves_the_keyboard_and_screen_readers(self):
        with probe_nodes(http=True) as nodes, Client(nodes) as calls:
            calls.add(1, 2)
            calls.ping()
            self.browser.open(nodes.a.http)
            self.wait_until("both are shown", lambda: len(self.browser.table("rates")) == 2)
            self.assertEqual(self.browser.js("document.documentElement.lang"), "en")
            self.assertEqual(self.browser.js(
                "[...document.querySelectorAll('table')].filter((t) => !document.getElementById("
                "t.getAttribute('aria-labelledby'))).length"), 0, "each table must have a label")
            self.assertEqual(self.browser.js(
                "[...document.querySelectorAll('th')].filter((th) => !th.scope).length"), 0)
            heading = "document.querySelector('#rates thead button')"
            self.browser.js(f"{heading}.focus()")
            self.browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
            self.assertEqual(self.browser.js(f"{heading}.parentElement.ariaSort"), "ascending")
            self.assertEqual([row["Function"] for row in self.browser.table("rates")], ["Probe.add", "Probe.ping"])
            self.browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
            self.assertEqual([row["Function"] for row in self.browser.table("rates")], ["Probe.ping", "Probe.add"])
            self.browser.driver.find_element("id", "filter").send_keys("PING")
            self.assertEqual([row["Function"] for row in self.browser.table("rates")], ["Probe.ping"])
            self.assertEqual(self.browser.complaints(), [])

    def test_is_dark_where_the_system_is(self):
        with probe_nodes(http=True) as nodes:
            grounds = set()
            for scheme in ("light", "dark"):
                self.browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
                    "features": [{"name": "prefers-color-scheme", "value": scheme}]})
                self.browser.open(nodes.a.http)
                grounds.add(self.browser.js("getComputedStyle(document.body).backgroundColor"))
            self.assertEqual(len(grounds), 2)


if __name__ == "__main__":
    main()
