# SPDX-License-Identifier: Apache-2.0
"""bench/nic/daemon.py: one hatrpcd of a measurement: its configuration, its metrics, and its plans."""

import collections
import json
import urllib.request

from nic import services
from tool import processes, ways

# Longer than the defaults, so that an emulated machine keeps its links too.
LIMITS = {"connect_timeout": "10s", "peer_wait": "20s", "keepalive_interval": "5s", "keepalive_timeout": "60s"}


class Daemon:
    """A hatrpcd that runs on a ways.Site. It has an admin port of the loopback address, and no link security."""

    def __init__(self, site, node, options, load, own):
        """`own`: the configuration of this daemon alone. Returns when the daemon is ready; raises Failed if it ends."""
        self.node, admin = node, site.port()
        self.config, manifest = site.file(f"{node}.yaml"), site.file("manifest.yaml")
        self.socket = site.file(f"{node}.sock")
        ways.write_whole(manifest, ways.manifest_text(services.manifest(load)))
        fabric = {"kind": options.fabric, **({"device": options.device} if options.device else {})}
        self.config.write_text(json.dumps({
            **own, "node": node, "manifests": [manifest.name], "fabric": fabric, "limits": LIMITS,
            "link": {**own.get("link", {}), "insecure": True},
            "admin": {"listen": f"tcp:127.0.0.1:{admin}", "socket": str(self.socket)}}), encoding="utf-8")
        self.process = site.start([site.programs / "hatrpcd", "--config", self.config], site.file(f"{node}.log"))
        self.way = ways.Way("", None, [self.process], [admin])
        ways.wait_until_ready(admin, self.process)

    def log(self):
        return self.process.log.read_text(encoding="utf-8", errors="replace")

    def get(self, page):
        """Returns the JSON of a page of the admin port."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.way.admins[0]}{page}", timeout=60) as answer:
            return json.load(answer)

    def calls(self):
        """Returns a Counter of the calls so far by (service, what carried the request, what carried the reply)."""
        counts = collections.Counter()
        for labels, value in self.way.metrics("hatrpc_calls_total"):
            counts[labels["thrift_service"], labels["request_protocol"], labels["reply_protocol"]] += int(value)
        return counts

    def outcomes(self):
        """Returns a Counter of the calls of local clients so far by their outcome, such as `success`."""
        counts = collections.Counter()
        for labels, value in self.way.metrics("hatrpc_requests_total"):
            if labels["side"] == "client" and value:
                counts[labels["outcome"]] += int(value)
        return counts

    def reasons_for_tcp(self, service):
        """Returns a Counter of the calls of a service that used TCP although their plan names RDMA, by reason."""
        counts = collections.Counter()
        for labels, value in self.way.metrics("hatrpc_fallbacks_total"):
            if labels["thrift_service"] == service and value:
                counts[labels["reason"]] += int(value)
        return counts

    def cpu_seconds(self):
        return processes.cpu_seconds(self.process)

    def plans(self):
        """Returns {service: (plan, reason)} of the services whose protocol the planner chooses."""
        return {service["service"]: (function["client"]["plan"], function["client"]["reason"])
                for service in self.get("/routes")["services"] for function in service["functions"]
                if function["method"] == "echo" and service["service"].startswith(("latency_", "throughput_"))}
