#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/tool/clock_test.py: tests that `./dev bench` finds and marks results that contradict Little's law.

usage: clock_test.py PROGRAMS    the folder of echo_client, echo_server and engine_bench
"""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

BENCH = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCH))

from tool import (chart, clock, experiment, machine, noise, options, processes, quiet,  # noqa: E402
                  report, results, tables, ways)
from tool.toys import Tool, honest, toy  # noqa: E402

PROGRAMS = None


ROOT = BENCH.parent
ONE = {"clients": 16}


def row(values, point=None, peer="a", number=0):
    return {"round": number, "point": point or ONE, "peer": peer, "values": values}


def result(rows, **facts):
    """Returns Results of the given rows, with those of the peers a and b and a's control that have rows."""
    peers = [peer for peer in ("a", "b") if any(one["peer"] == peer for one in rows)]
    points = list({str(one["point"]): one["point"] for one in rows}.values())
    control = {"peer": "a again", "of": "a"} if any(one["peer"] == "a again" for one in rows) else None
    return results.Results({"name": "toy", "peers": peers, "points": points, "rounds": 1, "seconds": 1.0,
                            "control": control, "options": {}, **facts}, rows)


class LittlesLaw(unittest.TestCase):
    CLOCK = clock.Clock(("p50_us",))

    def judge(self, values):
        return self.CLOCK.judge(row(values), 1.0)

    def test_it_holds_where_all_time_is_accounted_for(self):
        for think_us in (0, 300):
            self.assertIs(self.judge(honest(16, 2000, think_us)).holds, True)

    def test_to_within_ten_percent(self):
        for factor, holds in ((1.09, True), (0.91, True), (1.11, False), (0.89, False)):
            with self.subTest(factor):
                values = honest(16, 2000)
                values["mean_us"] /= factor
                self.assertIs(self.judge(values).holds, holds)

    def test_latencies_of_survivors_break_it(self):
        # 12 of 16 clients get an answer every 20 ms. The other 4 clients wait, and so no latency includes them.
        verdict = self.judge({**honest(12, 20_000), "fewest": 0})
        self.assertIs(verdict.holds, False)
        self.assertIn("clients ÷ calls/s is 26,667 µs, and calls and the time between them take 20,000 µs",
                      verdict.why)

    def test_time_between_calls_that_is_not_accounted_for_breaks_it(self):
        self.assertIs(self.judge({**honest(16, 2000, 500), "think_us": 0}).holds, False)

    def test_results_from_before_the_mean_was_measured(self):
        for values, holds in (
                ({"p50_us": 2000, "p99_us": 9000}, None),
                ({"p50_us": 2000, "p99_us": 9000, "fewest": 3}, None),
                ({"p50_us": 2000, "p99_us": 9000, "fewest": 0}, False),
                ({"p50_us": 90_000, "p99_us": 95_000}, False),  # the mean is at least 45 ms; the rate implies 16 ms
                ({"p50_us": 100, "p99_us": 200}, True),  # the mean is at most 20 ms, if 1 % took two seconds
                ({"p50_us": 100}, None)):
            with self.subTest(values):
                found = self.judge({"calls_per_s": 1000, **values}).holds
                self.assertIs(found, None if holds is True else holds)
        self.assertIs(self.judge({"calls_per_s": 100, "p50_us": 20_000, "p99_us": 30_000}).holds, False)
        self.assertIsNone(self.judge({"p50_us": 1}).holds)

    def test_each_load_of_a_measurement_is_judged(self):
        bulk = clock.Clock((), clients=lambda point: 4, prefix="bulk_")
        one = toy(clocks=(self.CLOCK, bulk))
        wrong = {f"bulk_{key}": value for key, value in honest(3, 500).items()}
        found = clock.judged(result([row({**honest(16, 100), **wrong})]), one)
        self.assertEqual([verdict.holds for _, _, verdict in found], [True, False])

    def test_tables_mark_what_it_contradicts_and_say_how_much_was_checked(self):
        units = {"calls_per_s": "calls/s", "p50_us": "µs"}
        one = toy(units=units, charts=[chart.Lines("p50_us", "clients", "Latency")])
        found = result([row(honest(16, 100)), row({**honest(16, 100), "mean_us": 50}, peer="b")])
        [table] = tables.of_chart(one.charts[0], found, one)
        self.assertEqual([cells[1].text for cells in table.rows], ["100", "100 †"])
        said = clock.summary(found, one)
        self.assertIn("of 2 loads: holds in 1; does not hold in 1, whose latencies are marked †", said)
        self.assertIn("100 †", report.page([with_facts(found)], lambda name: one))

    def test_one_round_that_breaks_it_marks_the_cell(self):
        one = toy()
        found = result([row(honest(16, 100)), row({**honest(16, 100), "mean_us": 50}, number=1)])
        self.assertEqual(clock.broken(found, one), {("a", str(ONE), "p50_us")})

    def test_the_clients_with_the_fewest_calls_and_the_most_are_shown(self):
        found = result([row({**honest(16, 100), "fewest": 0, "most": 31, "cut_off": 12})])
        [table] = tables.of_clients(found, toy())
        self.assertEqual(table.rows[0][1].text, "0–31, 12 cut off")

    def test_every_experiment_is_checked_or_says_why_not(self):
        for name in experiment.names():
            one = experiment.load(name)
            with self.subTest(name):
                if isinstance(one.clocks, str):
                    self.assertGreater(len(one.clocks), 15)
                    continue
                for each in one.clocks:
                    self.assertLessEqual({*each.latencies}, set(one.units))
                    self.assertLessEqual({each.prefix + key for key in ("calls_per_s", *clock.UNITS)},
                                         set(one.units))
                settings = options.settings_of(one, [])
                for point in one.points_of(settings):
                    self.assertTrue(all(each.clients(point) >= 1 for each in one.clocks))

    def test_published_latencies_of_survivors_are_known_as_such(self):
        mix = results.read(ROOT / "docs/results/atb-mix.json")
        if mix.control:
            self.skipTest("measured anew, with an account of all calls")
        found = clock.broken(mix, experiment.load("atb-mix"))
        many = str({"bytes": 131072, "clients": 256})
        self.assertIn(("hatrpcd, service hints", many, "average_us"), found)
        self.assertNotIn(("direct", str({"bytes": 512, "clients": 1}), "average_us"), found)


def with_facts(found):
    """Adds the facts that a page needs."""
    found.facts.update(experiment="toy", command="./dev bench run toy", commit="unknown", changed=False,
                       date="2026-01-01T00:00", quick=False, by_default={"rounds": 1, "seconds": 1},
                       all_peers=found.peers, versions={}, machine={**machine.facts()})
    return found


class Noise(Tool):
    def compared(self, other, again=(1000, 1200), **more):
        """Returns results and a table: a makes 1000 calls/s at both points, b `other`, and a's control `again`."""
        rows = [row({"calls_per_s": value}, {"clients": clients}, peer)
                for peer, values in (("a", (1000, 1000)), ("a again", again), ("b", (other, other)))
                for clients, value in zip((1, 2), values)]
        found, one = result(rows), toy(**more)
        [table] = tables.of_chart(one.charts[0], found, one)
        return found, one, table

    def test_the_floor_is_the_furthest_that_the_control_is_from_one(self):
        for again, floor in (((1000, 1200), 1.2), ((800, 1000), 1.25), ((1000, 1000), 1.0)):
            found, one, _ = self.compared(5000, again)
            self.assertAlmostEqual(noise.floor(found, one, "calls_per_s"), floor)

    def test_differences_within_it_are_marked_and_others_are_not(self):
        for other, near in ((1190, True), (850, True), (1210, False), (820, False)):
            with self.subTest(other):
                _, _, table = self.compared(other)
                entry = table.rows[2][1]
                self.assertEqual((table.rows[2][0], entry.near), ("b", near))
                self.assertEqual(entry.good, None if near else other > 1000)
                self.assertEqual("≈" in tables.entry_words(entry), near)
                self.assertIn("≈: within the noise floor, 1.20×", table.title)

    def test_without_a_control_it_is_said_to_be_unknown(self):
        found, one = result([row({"calls_per_s": 1000}), row({"calls_per_s": 1100}, peer="b")]), toy()
        [table] = tables.of_chart(one.charts[0], found, one)
        self.assertIn("noise floor not measured", table.title)
        self.assertNotIn("≈", tables.markdown(table))
        self.assertIn("has no A/A control", noise.summary(found, one))

    def test_peers_that_are_the_same_code_are_one_too(self):
        found = result([row({"calls_per_s": 1000}), row({"calls_per_s": 2400}, peer="b")])
        self.assertAlmostEqual(noise.floor(found, toy(same_code=(("b", "a"),)), "calls_per_s"), 2.4)

    def test_a_goal_that_is_missed_by_less_is_not_judged(self):
        for at_least, kept in ((1.25, "no, within the noise floor"), (1.5, "no"), (0.9, "yes")):
            goal = experiment.Goal("wanted", "calls_per_s", "b", {"clients": 1}, to="a",
                                   at_least=at_least)
            found, one, _ = self.compared(1100, goals=[goal])
            [line] = tables.of_goals(one, found).rows
            self.assertEqual(line[-1].text, kept)

    def test_a_run_measures_its_first_peer_as_two(self):
        asked = []

        def measure(peer, point, seconds):
            asked.append(peer)
            return honest(point["clients"], 100)

        status, out, _ = self.tool(toy(measure, peers=["a", "b", "c", "d"], points=[{"clients": 4}]),
                                   "run", "toy")
        self.assertEqual(status, 0, out)
        self.assertEqual(asked[:5], ["a", "b", "a", "c", "d"])
        self.assertEqual([one["peer"] for one in self.results().rows[:5]],
                         ["a", "b", "a, once more", "c", "d"])
        self.assertIn("a, once more", out)
        self.assertIn("Little's law", out)

    def test_a_result_without_one_is_not_complete(self):
        self.tool(toy(), "run", "toy")
        found = self.results()
        self.assertEqual(found.shortcomings(), [])
        found.facts["control"] = None
        self.assertIn("it has no A/A control", found.shortcomings())


class Quiet(Tool):
    BUSY = quiet.Sample(2, 1.84, {"cc1plus": 1.5, "ninja": 0.3, "idle": 0.001})

    def test_a_busy_machine_is_not_measured_on(self):
        status, out, errors = self.tool(toy(lambda *_: self.fail()), "run", "toy", sample=self.BUSY)
        self.assertEqual((status, out), (1, ""))
        self.assertIn("toy is not measured, because this machine is busy: other processes take 1.84 of "
                      "its 2 cores (cc1plus 1.50, ninja 0.30). Stop these processes or wait", errors)
        self.assertIn("--busy-anyway", errors)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_unless_it_is_told_to(self):
        status, _, errors = self.tool(toy(), "run", "toy", "--busy-anyway", sample=self.BUSY)
        self.assertEqual(status, 0)
        self.assertIn("this machine is busy", errors)
        found = self.results()
        self.assertIn("--busy-anyway", found.facts["command"])
        [short] = found.shortcomings()
        self.assertIn("the machine was busy: other processes take 1.84", short)
        self.assertEqual(self.tool(toy(), "run", "toy", "--quick", sample=self.BUSY)[0], 0)

    def test_a_quiet_machine_is(self):
        self.assertEqual(self.tool(toy(), "run", "toy", "--busy-anyway")[0], 0)
        self.assertEqual(self.results().shortcomings(), [])
        self.assertFalse(quiet.Sample(2, 0.2, {}).is_busy())
        self.assertTrue(quiet.Sample(2, 0.21, {}).is_busy())

    def proc(self, of_all, processes_of):
        (self.folder / "stat").write_text(f"cpu {of_all}\ncpu0 1 2\n")
        for pid, (name, user, system) in processes_of.items():
            (self.folder / str(pid)).mkdir(exist_ok=True)
            (self.folder / str(pid) / "stat").write_text(
                f"{pid} ({name}) R 1 1 1 0 -1 0 0 0 0 0 {user} {system} 0 0")

    def test_what_is_taken_is_that_of_others(self):
        tick = os.sysconf("SC_CLK_TCK")
        self.proc("1000 0 100 9000 50 0 0 0 0 0", {7: ("a) b", 10, 5), os.getpid(): ("me", 0, 0)})

        def later(_seconds):  # during 2 s, process 7 used 1 s, this process used 0.5 s, and the host stole 0.2 s
            self.proc(f"{1000 + tick} 0 {100 + tick // 2} 9100 60 0 0 {tick // 5} 0 0",
                      {7: ("a) b", 10 + tick, 5), os.getpid(): ("me", tick // 2, 0)})

        found = quiet.sample(2, self.folder, later)
        self.assertAlmostEqual(found.busy, 0.6)
        self.assertAlmostEqual(found.by_name["a) b"], 0.5)
        self.assertEqual(list(found.by_name)[0], "a) b")
        self.assertNotIn("me", found.by_name)

    def test_a_process_that_computes_is_found(self):
        with processes.Group() as group:
            busy = group.start([sys.executable, "-c", "while True: pass"], self.folder / "log")
            time.sleep(0.5)
            name = pathlib.Path(f"/proc/{busy.pid}/comm").read_text(encoding="utf-8").strip()
            found = quiet.sample(1)
        self.assertTrue(found.is_busy(), found)
        self.assertGreater(found.by_name[name], 0.02)


class Age(Tool):
    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=self.folder,
                       check=True, capture_output=True)

    def commit(self, file):
        (self.folder / file).parent.mkdir(exist_ok=True)
        (self.folder / file).write_text(str(time.monotonic()))
        self.git("add", ".")
        self.git("commit", "-m", "x")
        return subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], cwd=self.folder, check=True,
                              capture_output=True, text=True).stdout.strip()

    def test_a_change_of_what_is_measured_makes_results_older(self):
        self.git("init", "-q")
        commit = self.commit("daemon/worker.cc")
        self.assertEqual(machine.changes_since(commit, ("daemon",), self.folder), (0, ""))
        for file, count in (("manual/page.txt", 0), ("daemon/worker_test.cc", 0), ("daemon/worker.cc", 1),
                            ("daemon/worker.h", 2)):
            self.commit(file)
            with self.subTest(file):
                self.assertEqual(machine.changes_since(commit, ("daemon",), self.folder)[0], count)
        for unknown in ("unknown", "0123456789"):
            self.assertIsNone(machine.changes_since(unknown, ("daemon",), self.folder))

    def test_list_and_report_say_which_are_older(self):
        one = toy()
        self.tool(one, "run", "toy")
        published = self.folder / "published"
        published.mkdir()
        (published / "toy.json").write_text((self.folder / "toy" / results.FILE).read_text())
        for changes, words in (((3, "2026-11-23"), "older than the code that it measures: 3 commits since "
                                                   "0123456789, the last of 2026-11-23"),
                               (None, "perhaps older"), ((0, ""), None)):
            with self.subTest(changes):
                _, _, errors = self.tool(one, "report", changes=changes)
                page = (self.folder / report.FILE).read_text(encoding="utf-8")
                with mock.patch.object(options, "PUBLISHED", published), \
                        mock.patch.object(experiment, "names", lambda: ["toy"]):
                    _, listed, _ = self.tool(one, "list", out=False, changes=changes)
                if words is None:
                    self.assertNotIn("older", errors + listed)
                    self.assertNotIn("lder than", page)
                else:
                    self.assertIn(f"toy is {words}", errors)
                    self.assertIn(f"published: toy is {words}", listed)
                    self.assertIn(words[1:], page)

    def test_what_experiments_measure_is_there(self):
        for name in experiment.names():
            for path in experiment.load(name).measures:
                with self.subTest(name, path=path):
                    self.assertTrue((ROOT / path).exists())


class LoadPrograms(unittest.TestCase):
    """Tests what the load programs print about their clients; bench/account_test.cc tests which calls count."""

    def test_no_lane_of_engine_bench_is_left_out(self):
        for _ in range(8):  # each run connects new lanes
            found = processes.run_client([PROGRAMS / "engine_bench", "calls", "--clients", 8,
                                          "--seconds", 0.3], 0.3)
            self.assertGreater(found["fewest"], 0)
            self.assertGreaterEqual(found["most"], found["fewest"])
            self.assertLessEqual(found["cut_off"], 8)

    def test_echo_clients_that_get_no_answer_are_in_the_account(self):
        # The relay delays the second connection, so that its client gets no answer in the measured time.
        with tempfile.TemporaryDirectory() as folder, ways.Site(types.SimpleNamespace(
                folder=pathlib.Path(folder), programs=PROGRAMS)) as site, Half(site) as port:
            found = site.client([PROGRAMS / "echo_client", port, 2, 64, 1], 1)
        self.assertEqual(found["fewest"], 0)
        self.assertGreater(found["most"], 0)
        self.assertGreaterEqual(found["cut_off"], 1)
        # The client without an answer counts with the whole measured time, 800 ms, and so does the other client.
        self.assertGreater(found["mean_us"] * (found["most"] + 2), 1_200_000)
        # `law` would be 2 if the client without an answer did not count. The tolerance is large, because a single call
        # can take much of the measured time on a busy machine.
        law = 2 / found["calls_per_s"] * 1e6 / (found["mean_us"] + found["think_us"])
        self.assertAlmostEqual(law, 1, delta=0.4)


class Half(contextlib.AbstractContextManager):
    """A relay between clients and an echo_server that carries the second connection only after SILENT_SECONDS."""

    SILENT_SECONDS = 1.5

    def __init__(self, site):
        self.server = site.server([site.programs / "echo_server", "0"])
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        for wait in (0, self.SILENT_SECONDS):
            client, _ = self.listener.accept()
            server = socket.create_connection(("127.0.0.1", int(self.server.address)))
            for source, to, after in ((client, server, wait), (server, client, 0)):
                threading.Thread(target=self.carry, args=(source, to, after), daemon=True).start()

    @staticmethod
    def carry(source, to, after):
        time.sleep(after)
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                to.sendall(data)
        with contextlib.suppress(OSError):
            to.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self.listener.getsockname()[1]

    def __exit__(self, *_):
        self.listener.close()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
