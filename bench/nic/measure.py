# SPDX-License-Identifier: Apache-2.0
"""bench/nic/measure.py: `./dev nic measure`: measures every way of a call between two hosts, as an experiment.

The order of measurements, their repetition in rounds, and the A/A control are those of `./dev bench` (tool/runner.py).
Two hatrpcds run on this host: the second one has the profile that a calibration with the first one has written.
"""

import contextlib
import dataclasses
import http.client
import importlib.util
import json
import platform
import socket
import time
import types
import urllib.request

from nic import daemon, host, report, serve, services
from nic.services import MEASURED, PLANNED
from tool import chart, clock, experiment, quiet, results, runner, ways, words
from tool.experiment import Failed

CONNECT_SECONDS = 5
ASK_SECONDS = 180  # for an answer of the other host's desk, which can have to wait for hatctl doctor
ENOUGH = 0.9  # the share of the calls of a measurement that must go in the wanted way
CALIBRATE_ATTEMPTS = 5
NO_CALL = "no call ended"  # echo_client prints this if the measurement was too short for a call
SETTLE_SECONDS = 20  # for how long a measurement is repeated until enough calls go in the wanted way

UNITS = {"p50_us": "µs", "p99_us": "µs", "calls_per_s": experiment.Unit("calls/s", "higher", "calls per second"),
         "client_sidecar_cpu_us": experiment.Unit("µs", "lower", "CPU per call: the client's hatrpcd"),
         "as_wanted": experiment.Unit("of calls", "neither", "requests carried in the wanted way"), **clock.UNITS}
NOTES = ("Clients and servers exchange messages with the hatrpcd of their host over rings of shared memory. The hints "
         "of “TCP” and of the thirteen protocols force this way and the polling mode busy. The planner has the hint "
         "perf_goal=latency for one client and perf_goal=throughput for several, and the hint concurrency. All have "
         "the hint payload_size. Messages that do not fit a slot of a protocol use a rendezvous (docs/protocols.md). "
         "The first fifth of a measurement is warm-up and does not count.")


@dataclasses.dataclass
class Gathered:
    """The facts of a run besides its measurements. All but `logs` and `profile` are in results.json."""
    hosts: dict = dataclasses.field(default_factory=dict)  # by role (client, server): host.facts()
    profile: str = ""  # the text of the profile; "" if there is none
    no_profile: str = ""  # why there is no profile
    plans: dict = dataclasses.field(default_factory=dict)  # by set-up (PLANNED, MEASURED): Daemon.plans()
    carried: list = dataclasses.field(default_factory=list)  # [set-up, service, request by, reply by, calls]
    outcomes: dict = dataclasses.field(default_factory=dict)  # calls by outcome
    logs: dict = dataclasses.field(default_factory=dict)  # by node: the text of its hatrpcd's log

    def for_json(self):
        return {key: value for key, value in dataclasses.asdict(self).items() if key not in ("profile", "logs")}


class Client(daemon.Daemon):
    """A hatrpcd of this host, with an endpoint for each service of the other host."""

    def __init__(self, site, node, options, load, **more):
        self.endpoints = {name: site.address("shm", name) for name in services.manifest(load)["services"]}
        self.desk = site.port()
        listens = {**self.endpoints, services.DESK: str(self.desk)}
        super().__init__(site, node, options, load, {
            "peers": {"server": {"link": f"tcp:{options.address}"}},
            "endpoints": [{"listen": ways.in_hatrpcd(address), "service": name, "peers": ["server"]}
                          for name, address in listens.items()], **more})

    def ask(self, page):
        """Returns the text of a page of the other host's desk."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.desk}{page}", timeout=ASK_SECONDS) as answer:
                return answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise Failed(f"the desk of `./dev nic serve` does not answer ({error}); does it run on the other host, in "
                         "this version?") from error


class Ways:
    """The setup of the experiment: carries the calls of each set-up through the hatrpcd that it needs."""

    def __init__(self, site, clients, no_profile):
        self.site, self.clients, self.no_profile = site, clients, no_profile

    def measure(self, peer, point, seconds):
        """Measures until at least ENOUGH of the calls go in the wanted way, because a lane opens with the first call.

        A measurement that is too short for a call is repeated with twice the time.
        """
        client = self.clients.get(MEASURED if peer == MEASURED else PLANNED)
        if client is None:
            raise Failed(f"there is no profile: {self.no_profile}")
        service, end = services.name_of(peer, point), time.monotonic() + SETTLE_SECONDS
        command = [self.site.programs / "echo_client", client.endpoints[service], point["clients"], point["bytes"]]
        while True:
            cpu, before = client.cpu_seconds(), client.calls()
            try:
                found = self.site.client([*command, seconds], seconds)
            except Failed as failure:
                if NO_CALL not in str(failure) or time.monotonic() > end:
                    raise
                seconds *= 2
                continue
            cpu = client.cpu_seconds() - cpu
            made = {way: calls for way, calls in (client.calls() - before).items() if way[0] == service}
            total = sum(made.values())  # 0 if hatrpcd has not counted the only call yet
            wanted = sum(calls for (_, request, _), calls in made.items() if services.is_as_wanted(peer, request))
            share = wanted / total if total else 0
            if share >= ENOUGH:
                return {"p50_us": found["p50"], "p99_us": found["p99"], "calls_per_s": found["calls_per_s"],
                        "client_sidecar_cpu_us": cpu * 1e6 / total, "as_wanted": share,
                        **clock.values(found)}
            if time.monotonic() > end:
                reasons = ", ".join(f"{reason} {calls:,}" for reason, calls in client.reasons_for_tcp(service).items())
                raise Failed(f"only {share:.0%} of the calls went in the wanted way; calls over TCP by reason: "
                             f"{reasons or 'none'}")


def experiment_of(options, load, gathered, say):
    """Returns the Experiment of a run. While it is open, `gathered` gets the facts, and `say` the progress."""
    @contextlib.contextmanager
    def open_ways(settings):
        with ways.Site(settings) as site:
            clients = start(site, options, load, gathered, say)
            try:
                yield Ways(site, clients, gathered.no_profile)
            finally:
                gather(clients, load, gathered)

    def lines(value, title, clients):
        return chart.Lines(value, "bytes", title, {"clients": clients}, log_x=len(load.payloads) > 1, log_y=True)

    return experiment.Experiment(
        name="nic", title="Every way of a call between two hosts",
        question="How fast is each RDMA protocol, TCP and the planner's choice between these two hosts?",
        peers=list(services.PEERS), points=load.points(), seconds=options.seconds, rounds=options.rounds, warm_up=0,
        open=open_ways, units=UNITS, clocks=(clock.Clock(("p50_us", "p99_us")),), measures=ways.CODE, notes=NOTES,
        charts=[lines("p50_us", "Latency, one client", 1),
                lines("calls_per_s", f"Calls per second, {load.clients} clients", load.clients),
                lines("client_sidecar_cpu_us", f"CPU per call of the client's hatrpcd, {load.clients} clients",
                      load.clients)])


def start(site, options, load, gathered, say):
    """Starts the hatrpcds of this host, and calibrates; returns {PLANNED or MEASURED: Client}."""
    say("starting hatrpcd")
    first = Client(site, "client", options, load)
    check_same(serve.same(options), json.loads(first.ask("/same")))
    say("collecting facts about both hosts")
    gathered.hosts = {"client": host.facts(site.programs, first), "server": json.loads(first.ask("/facts"))}
    profile = site.file("profile.yaml")
    gathered.no_profile = calibrate(site, first, profile, say)
    if gathered.no_profile:
        return {PLANNED: first}
    gathered.profile = profile.read_text(encoding="utf-8")
    return {PLANNED: first, MEASURED: Client(site, "client-measured", options, load, profile=str(profile))}


def calibrate(site, client, profile, say):
    """Writes the measured costs into the file `profile`; returns "", or why they cannot be measured.

    On a busy host, a calibration can wait in vain for the other side. So it has several attempts.
    """
    for _ in range(CALIBRATE_ATTEMPTS):
        say("calibrating")
        done = host.ended([site.programs / "hatctl", "--socket", client.socket, "calibrate", "server",
                           "--write", profile])
        if done.returncode == 0:
            return ""
        say(done.stderr.strip())
    return done.stderr.strip()


def check_reachable(address):
    """Raises Failed if no program listens at the address. hatrpcd would only say so in its log."""
    name, _, port = address.rpartition(":")
    try:
        socket.create_connection((name.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except OSError as error:
        raise Failed(f"cannot connect to {address}: {error}; start `./dev nic serve {address}` on the other host, and "
                     f"let its firewall admit TCP port {port}") from error


def check_same(mine, theirs):
    """Raises Failed if the two hosts differ in a fact of serve.same(), by which their numbers would mean nothing."""
    for fact, value in mine.items():
        if value != theirs.get(fact):
            raise Failed(f"the hosts differ in {fact}: this host has {value}, the other host {theirs.get(fact)}; use "
                         "the same on both")


def gather(clients, load, gathered):
    """Adds to `gathered` what the daemons know at the end. A daemon that has ended leaves only its log."""
    for peer, client in clients.items():
        gathered.logs[client.node] = client.log()
        with contextlib.suppress(Failed, OSError):
            gathered.plans[peer] = client.plans()
            used = {services.name_of(one, point): one for one in services.PEERS for point in load.points()
                    if (one == MEASURED) == (peer == MEASURED)}
            gathered.carried += [[used[service], service, request, reply, count]
                                 for (service, request, reply), count in client.calls().items() if count]
            for outcome, count in client.outcomes().items():
                gathered.outcomes[outcome] = gathered.outcomes.get(outcome, 0) + count
    with contextlib.suppress(Failed):
        gathered.logs["server"] = clients[PLANNED].ask("/log")


def measure(options):
    """Measures, and packs the archive; returns the exit status. Raises Failed if nothing can be measured."""
    if options.plots and importlib.util.find_spec("matplotlib") is None:
        raise Failed("matplotlib, which draws the plots, is not installed: `./dev setup nic` installs it, and "
                     "--no-plots writes the report without plots")
    check_reachable(options.address)
    load = services.Load(tuple(options.payloads), options.clients)
    name = f"hatrpc-nic-{words.slug(platform.node())}-{time.strftime('%Y%m%d-%H%M%S')}"
    progress, gathered = runner.Progress(), Gathered()
    sample = quiet.sample()
    if sample.is_busy():
        progress.say(f"this machine is busy, and the report will say so: {sample.words()}")
    settings = types.SimpleNamespace(
        name=name, command=options.command, options={}, quick=False, seconds=options.seconds, rounds=options.rounds,
        busy=sample.words() if sample.is_busy() else None, peers=list(services.PEERS), out=options.output / name,
        programs=options.bin.resolve())
    one = experiment_of(options, load, gathered, progress.say)
    found = runner.run(one, settings, progress)
    progress.end()
    if not found.rows:
        return 130
    found.facts.update(gathered.for_json())
    results.write(found, settings.out / results.FILE)
    archive = report.pack(settings.out, found, one, gathered, options.plots)
    errors = len(found.errors())
    print(f"{len(found.rows) - errors} of {found.expected()} measured, {errors} failed\n"
          f"written: {archive}\n"
          f"Nothing has been sent to anybody. Read the report, {settings.out}/report.md, before you send the archive.")
    return 130 if len(found.rows) < found.expected() else 1 if errors else 0
