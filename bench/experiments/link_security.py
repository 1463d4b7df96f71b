# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/link_security.py: measures the cost of TLS on links, and the cost of `allow` rules."""

import contextlib
import ssl

from tool import chart, clock, experiment, ways

# By peer: the fabric between the two hatrpcds; whether the link has TLS; whether the daemon checks an `allow` rule for
# each call.
LINKS = {"insecure, TCP lanes": ("tcp", False, False),
         "TLS, TCP lanes": ("tcp", True, False),
         "TLS and allow, TCP lanes": ("tcp", True, True),
         "insecure, RDMA lanes": ("auto", False, False),
         "TLS and allow, RDMA lanes": ("auto", True, True)}
INSECURE, TLS, ALLOW = list(LINKS)[:3]
POINTS = [{"bytes": size, "clients": clients} for size in (64, 131072) for clients in (1, 16)]


class LinkSecurity:
    def __init__(self, site, peers):
        self.site, self.peers = site, peers
        self.versions = {"OpenSSL": ssl.OPENSSL_VERSION.split()[1]}

    def measure(self, peer, point, seconds):
        return ways.echo_calls(self.site, self.peers[peer], point, seconds)


@contextlib.contextmanager
def open_peers(settings):
    with ways.Site(settings) as site:
        server = site.server([settings.programs / "echo_server", "0"])

        def pair(fabric, tls, allow):
            manifest = ways.manifest("Echo", {"echo": {}, "bulk": {}})
            if allow:
                manifest["services"]["Echo"]["allow"] = ["host-a"]
            return ways.hatrpcd_pair(site, server, "Echo", manifest, fabric=fabric, tls=tls)

        yield LinkSecurity(site, ways.Peers({
            name: lambda link=link: pair(*link) for name, link in LINKS.items()}))


EXPERIMENT = experiment.Experiment(
    name="link-security", title="TLS on links, and rules of who may call",
    question="How much do mutual TLS and `allow` rules add to the cost of a call?",
    peers=list(LINKS), points=POINTS, open=open_peers, seconds=1.5, rounds=5,
    clocks=(clock.Clock(("p50_us", "p99_us")),), measures=(*ways.CODE, *ways.ECHO),
    units={"calls_per_s": experiment.Unit("calls/s", "higher", "calls per second"),
           "p50_us": "µs", "p99_us": "µs", **clock.UNITS,
           "sidecar_cpu_us": experiment.Unit("µs", "lower", "CPU per call: both sidecars")},
    charts=[chart.Lines("calls_per_s", "clients", "Calls per second", to=INSECURE, log_x=True),
            chart.Lines("sidecar_cpu_us", "clients", "CPU of both sidecars, per call", to=INSECURE,
                        log_x=True)],
    notes="A C++ echo server is called over TCP sockets through two daemons on one machine, over loopback. RDMA lanes "
          "are not encrypted. The daemon checks `allow` for every call on every lane.")
