# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/load_change.py: measures the rate of calls in the seconds after a change of the load."""

import collections
import contextlib
import time

from atb import peers
from tool import chart, experiment, processes, ways

AFTER, BEFORE, LEARNED = "hints of the load after it", "hints of the load before it", "the same, learned"
# The loads before and after each change: bytes of a payload, clients.
CHANGES = {"64 B to 64 KiB, 4 clients": ((64, 4), (65536, 4)),
           "4 to 128 clients, 64 B": ((64, 4), (64, 128)),
           "1 to 16 clients, 64 B": ((64, 1), (64, 16))}
# The changes after which the plan of the load before must be slower. Otherwise there is nothing to follow.
LOSING = ("1 to 16 clients, 64 B",)
SECONDS_AFTER = (1, 2, 4, 6, 8, 10, 12, 14)  # when a measurement begins, after the load has changed
FOLLOWED = 10  # by then, a learned plan is to be as fast as the plan of the right hints
# How much longer the clients call than the measurements should take, because each scrape takes time too.
SPARE_SECONDS = 4.0
LATE_SECONDS = 0.3  # how much later a measurement may begin, because the one before took longer


class LoadChange:
    """A course of one peer is the load before a change, and the load after it with the measurements of all points.

    The first measurement of each point belongs to the first course of its peer and change, and so on.
    """

    def __init__(self, site, pairs, settings):
        self.site, self.peers, self.before_seconds = site, pairs, settings.before
        self.courses = collections.defaultdict(list)  # by peer and change: [{second: rate}]
        self.measured = collections.Counter()  # by peer, change and second

    def measure(self, peer, point, seconds):
        change, second = point["change"], point["second"]
        number = self.measured[peer, change, second]
        self.measured[peer, change, second] += 1
        courses = self.courses[peer, change]
        if number == len(courses):
            courses.append(self.course(peer, change, seconds))
        if number > len(courses):
            raise experiment.Failed("an earlier course of this peer has failed")
        return {"calls_per_s": courses[number][second]}

    def course(self, peer, change, seconds):
        """Calls with both loads; returns the rate in `seconds` after each of SECONDS_AFTER."""
        way = self.peers[peer, change]
        before, after = CHANGES[change]
        hinted = after if peer == AFTER else before
        way.change_manifest(manifest(peers.SERVICE, hinted))  # forgets what an earlier course has learned
        way.change_manifest(manifest(peers.LEARNED if peer == LEARNED else peers.SERVICE, hinted))
        with self.client(way, before, self.before_seconds) as client:
            client.result()
        whole = max(SECONDS_AFTER) + seconds + SPARE_SECONDS
        rates = {}
        with self.client(way, after, whole) as client:
            begun = time.monotonic()
            for second in SECONDS_AFTER:
                late = time.monotonic() - begun - second
                if late > LATE_SECONDS:
                    raise experiment.Failed(f"the measurement {second} s after the change would be {late:.1f} s late")
                time.sleep(max(0.0, -late))
                rates[second] = way.calls_per_second(seconds)
            if client.process.poll() is not None:
                raise experiment.Failed(f"the clients ended before the last measurement: {whole:g} s took longer")
            client.result()  # fails if a call has failed
        return rates

    def client(self, way, load, seconds):
        size, clients = load
        return processes.Client(
            [self.site.programs / "atb", "throughput", way.address, "--size", size, "--processes", 1, "--threads",
             clients, "--iterations", 0, "--seconds", seconds, "--warm-up", 0, "--json"],
            seconds, self.site.cores.client_host)


def manifest(peer, load):
    return peers.manifest_of(peer, "throughput", *load)


@contextlib.contextmanager
def open_peers(settings):
    with ways.Site(settings) as site:
        server = peers.start_server(site, settings.local)

        def pair(loads):
            return ways.hatrpcd_pair(site, server, "Atb", manifest(peers.SERVICE, loads[0]), settings.local,
                                     node=peers.LIMITS)

        yield LoadChange(site, ways.Peers({
            (peer, change): lambda loads=loads: pair(loads)
            for peer in (AFTER, BEFORE, LEARNED) for change, loads in CHANGES.items()}), settings)


def goal(change, second, peer, **bound):
    return experiment.Goal(f"{change}, {second} s after it: calls/s of “{peer}” ÷ calls/s of “{AFTER}”",
                           "calls_per_s", peer, {"change": change, "second": second}, AFTER, **bound)


EXPERIMENT = experiment.Experiment(
    name="load-change", title="Learned plans after a change of the load",
    question="Do learned plans follow a change of the load within ten seconds?",
    peers=[AFTER, BEFORE, LEARNED], open=open_peers, seconds=1.0, rounds=3, warm_up=0,
    points=[{"change": change, "second": second} for change in CHANGES for second in SECONDS_AFTER],
    options=[peers.LOCAL,
             experiment.Option("--before", "seconds of the load before the change", 12.0, quick=3.0)],
    units={"calls_per_s": experiment.Unit("calls/s", "higher", "Calls per second")},
    clocks="the daemon's counter gives the rates, and no latency is measured",
    measures=peers.MEASURES,
    charts=[chart.Lines("calls_per_s", "second", "Calls per second after the change")],
    goals=[goal(change, second, peer, **bound) for peer, changes, bound in (
        (LEARNED, CHANGES, {"at_least": 0.9}), (BEFORE, LOSING, {"at_most": 0.9}))
        for change in changes for second in SECONDS_AFTER if second >= FOLLOWED],
    notes="All processes share one machine. Without an RDMA device the daemons exchange messages through shared "
          "memory. ATB calls with one load, ends, and begins to call with the load after the change. All set-ups "
          "have perf_goal throughput, and hints of the payload and of the concurrency of one of the two loads. "
          "“The same, learned” has plan: learned too, and forgets at the beginning of each round what it has learned "
          "before. ATB ends with an error if a call fails, so a run without errors has no failed call. Each change has "
          "its own pair of daemons.")
