# SPDX-License-Identifier: Apache-2.0
"""bench/tool/runner.py: makes an experiment's measurements in turn, and writes each to the results at once.

Each round measures every peer (set-up) at every point, so that disturbances of the machine affect all peers alike. Each
round begins with another peer. The first peer is measured twice in each round, as if it were two peers: smaller
differences between peers than that of these two mean nothing (tool/noise.py).
"""

import datetime
import numbers
import pathlib
import sys
import tempfile
import time

from tool import machine, results
from tool.experiment import Failed
from tool.words import error_words, point_words


CONTROL = ", once more"  # appended to the first peer's name


def with_control(peers):
    """Returns the peers with the A/A control (the first peer again) in the middle of the list."""
    half = (len(peers) + 1) // 2
    return [*peers[:half], peers[0] + CONTROL, *peers[half:]]


def turns(rounds, points, peers):
    """Yields (round, point, peer) for each measurement, in the order of the measurements."""
    for number in range(rounds):
        first = number % len(peers)
        for point in points:
            for peer in peers[first:] + peers[:first]:
                yield number, point, peer


def run(experiment, settings, progress):
    """Makes all measurements, or those until Ctrl-C; returns the results, and writes them to settings.out."""
    peers, points = settings.peers, experiment.points_of(settings)
    commit, changed = machine.commit()
    found = results.Results({
        "format": results.FORMAT, "name": settings.name, "experiment": experiment.name,
        "command": settings.command, "options": settings.options,
        "date": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
        "commit": commit, "changed": changed, "machine": machine.facts(experiment.model(settings)), "versions": {},
        "quick": settings.quick, "seconds": settings.seconds, "rounds": settings.rounds,
        "by_default": dict(zip(("seconds", "rounds"), experiment.usual(settings), strict=True)),
        "warm_up": experiment.warm_up, "peers": peers, "points": points,
        "control": None if experiment.model(settings) else {"peer": peers[0] + CONTROL, "of": peers[0]},
        "busy": settings.busy,
        "all_peers": experiment.peers_of(settings)}, [])
    progress.begin(experiment, settings, found)
    with tempfile.TemporaryDirectory(prefix="hatrpc-bench-") as folder:
        settings.folder = pathlib.Path(folder)
        try:
            with experiment.open(settings) as setup:
                found.facts["versions"] = getattr(setup, "versions", {})
                measure_all(experiment, settings, setup, found, progress)
        except KeyboardInterrupt:
            progress.say("interrupted; the measurements made so far are kept")
    if found.rows:
        results.write_csv(found, settings.out / "results.csv")
    return found


def keep_earlier(folder):
    """Renames the earlier run's results to results.before.json, unless they are incomplete and that file exists."""
    folder.mkdir(parents=True, exist_ok=True)
    file, before = folder / results.FILE, folder / "results.before.json"
    if file.exists() and (not before.exists() or not results.read(file).shortcomings()):
        file.replace(before)


def measure_all(experiment, settings, setup, found, progress):
    warm = set()
    for number, point, name in turns(settings.rounds, found.points, with_control(found.peers) if found.control else found.peers):
        progress.turn(number, point, name)
        row = {"round": number, "point": point, "peer": name}
        peer = found.facts["control"]["of"] if name == found.control else name
        try:
            if (key := (name, str(point))) not in warm and experiment.warm_up:
                setup.measure(peer, point, min(experiment.warm_up, settings.seconds))
                warm.add(key)
            row["values"] = checked(setup.measure(peer, point, settings.seconds))
        except Exception as error:  # after any error, the run continues with the other measurements
            row["error"] = words_of(error)
            progress.say(f"failed: {error_words(row)}")
        if not found.rows:
            keep_earlier(settings.out)
        found.rows.append(row)
        results.write(found, settings.out / results.FILE)


def checked(values):
    for key, value in values.items():
        if not isinstance(value, numbers.Real) or value != value:
            raise Failed(f"measured {key}: {value!r}, which is no number")
    return values


def words_of(error):
    return str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"


def plan_words(experiment, settings):
    peers, points = len(settings.peers), len(experiment.points_of(settings))
    controls = 0 if experiment.model(settings) else 1
    total = (peers + controls) * points * settings.rounds
    rounds = f"{settings.rounds} round{'s' if settings.rounds > 1 else ''}"
    return (f"{settings.name}: {experiment.question}\n"
            f"  {peers} peers{' and a control' if controls else ''}, {points} points, {rounds} of "
            f"{settings.seconds:g} s: {total} measurements, {time_words(total * settings.seconds)} at least")


def time_words(seconds):
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class Progress:
    """Shows the progress on stderr: a line that changes on a terminal, and otherwise a new line now and then."""

    def __init__(self):
        self.stream = sys.stderr
        self.terminal = self.stream.isatty()

    def begin(self, experiment, settings, found):
        self.total, self.done, self.rounds = found.expected(), 0, settings.rounds
        self.started = time.monotonic()
        self.say(plan_words(experiment, settings))

    def turn(self, number, point, peer):
        where = point_words(point)
        line = (f"{self.done + 1:4} of {self.total}{self.left()}  round {number + 1} of "
                f"{self.rounds}  {where}{': ' if where else ''}{peer}")
        if self.terminal:
            self.stream.write(f"\r\033[K{line[:118]}")
            self.stream.flush()
        elif self.done % max(1, self.total // 20) == 0:
            self.say(line)
        self.done += 1

    def left(self):
        if self.done < 2:
            return ""
        seconds = (time.monotonic() - self.started) / self.done * (self.total - self.done)
        return f", {time_words(seconds)} left"

    def say(self, text):
        self.end()
        print(text, file=self.stream, flush=True)

    def end(self):
        if self.terminal:
            self.stream.write("\r\033[K")
            self.stream.flush()
