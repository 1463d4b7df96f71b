# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/prometheus.py: runs Prometheus with the rules of deploy/monitoring, but with shorter intervals."""

import json
import pathlib
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request

import yaml

from nodes import free_ports, wait_until

MONITORING = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "monitoring"
RULES = MONITORING / "hatrpc.rules.yaml"
SCRAPE = "500ms"
EVALUATE = "250ms"
HURRY = "1s"  # replaces the time in every `for` of the rules
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # uses no proxy: Prometheus is on this host


def rules(kind):
    """Returns the rules of deploy/monitoring that have the key `kind` ("alert" or "record")."""
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"] if kind in rule]


class Prometheus:
    """A Prometheus that scrapes `targets` (each HOST:PORT) and evaluates the rules. A context manager."""

    def __init__(self, targets):
        self.targets = targets
        self.folder = tempfile.TemporaryDirectory(prefix="hatrpc-prometheus-")
        self.address = f"127.0.0.1:{free_ports(1)[0]}"
        self.process = None

    def write_files(self, folder):
        config = yaml.safe_load((MONITORING / "prometheus.yaml").read_text(encoding="utf-8"))
        config["global"] = {"scrape_interval": SCRAPE, "scrape_timeout": SCRAPE,
                            "evaluation_interval": EVALUATE}
        config["scrape_configs"][0]["static_configs"] = [{"targets": self.targets}]
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        hurried = yaml.safe_load(RULES.read_text(encoding="utf-8"))
        for group in hurried["groups"]:
            for rule in group["rules"]:
                if "for" in rule:
                    rule["for"] = HURRY
        (folder / RULES.name).write_text(yaml.safe_dump(hurried), encoding="utf-8")

    def __enter__(self):
        folder = pathlib.Path(self.folder.name)
        self.write_files(folder)
        with open(folder / "log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={folder}/prometheus.yaml", "--log.level=warn",
                 f"--storage.tsdb.path={folder}/data", f"--web.listen-address={self.address}"],
                stdout=log, stderr=log)
        try:
            wait_until("Prometheus is ready", self.is_ready, 60)
        except BaseException:
            print((folder / "log").read_text(encoding="utf-8"))
            self.__exit__()
            raise
        return self

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"Prometheus has ended, status {self.process.returncode}")
        with OPENER.open(f"http://{self.address}/-/ready", timeout=10) as answer:
            return answer.status == 200

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()

    def ask(self, path, **parameters):
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with OPENER.open(url, timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()}") from error

    def query(self, expression):
        """Evaluates an expression; returns [(labels, value)]."""
        return [(row["metric"], float(row["value"][1]))
                for row in self.ask("query", query=expression)["result"]]

    def firing(self):
        """Returns the alerts that fire now, as [{labels, annotations, …}]."""
        return [alert for alert in self.ask("alerts")["alerts"] if alert["state"] == "firing"]
