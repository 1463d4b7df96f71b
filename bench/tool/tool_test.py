#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/tool/tool_test.py: tests the order of measurements, failures, results and reports of `./dev bench`.

usage: tool_test.py PROGRAMS    the folder of hatrpcd, echo_client and echo_server
"""

import contextlib
import copy
import html.parser
import io
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
import uuid
from unittest import mock

BENCH = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCH))

from tool import (chart, docs, experiment, machine, options, processes, quiet, report, results,  # noqa: E402
                  runner, tables, ways)
from tool.toys import Tool, speed, toy  # noqa: E402

PROGRAMS = None
WAIT_SECONDS = 60


class Turns(unittest.TestCase):
    def test_every_peer_has_its_turn_at_every_point_in_every_round(self):
        points = [{"x": 1}, {"x": 2}]
        seen = list(runner.turns(3, points, ["a", "b", "c"]))
        self.assertEqual(len(seen), 18)
        for number in range(3):
            for point in points:
                for peer in "abc":
                    self.assertEqual(seen.count((number, point, peer)), 1)

    def test_who_begins_changes(self):
        seen = list(runner.turns(3, [{}], ["a", "b", "c"]))
        self.assertEqual([peer for _, _, peer in seen[::3]], ["a", "b", "c"])


class Statistics(unittest.TestCase):
    def cell(self, *values, key="us"):
        return results.Cell([{"round": i, "values": {key: value}} if value is not None
                             else {"round": i, "error": "broke"} for i, value in enumerate(values)])

    def test_median_and_spread(self):
        for values, median, lowest, highest, spread in (
                ((3.0, 1.0, 2.0), 2.0, 1.0, 3.0, 0.5), ((4.0, 2.0), 3.0, 2.0, 4.0, 1 / 3),
                ((5.0,), 5.0, 5.0, 5.0, 0.0), ((0.0, 0.0), 0.0, 0.0, 0.0, 0.0)):
            with self.subTest(values):
                found = self.cell(*values).summary("us")
                self.assertEqual((found.median, found.lowest, found.highest),
                                 (median, lowest, highest))
                self.assertAlmostEqual(found.spread, spread)

    def test_failed_rounds_do_not_count(self):
        self.assertEqual(self.cell(1.0, None, 9.0).summary("us").median, 5.0)
        self.assertIsNone(self.cell(None, None).summary("us"))

    def test_ratios_are_of_the_same_round(self):
        # In each round, the first value is twice the second value, although the values change between rounds.
        found = self.cell(20.0, 2.0, 12.0).ratio(self.cell(10.0, 1.0, 6.0), "us")
        self.assertEqual((found.median, found.lowest, found.highest), (2.0, 2.0, 2.0))

    def test_ratios_of_rounds_in_which_both_worked(self):
        self.assertEqual(self.cell(4.0, None, 9.0).ratio(self.cell(2.0, 1.0, None), "us").count, 1)
        self.assertIsNone(self.cell(None, 1.0).ratio(self.cell(1.0, None), "us"))
        self.assertIsNone(self.cell(1.0).ratio(self.cell(0.0), "us"))


class Runs(Tool):
    def test_a_run_keeps_every_value_and_where_it_comes_from(self):
        status, out, _ = self.tool(toy(), "run", "toy", "--seconds", "1.5")
        self.assertEqual(status, 0, out)
        found = self.results()
        self.assertEqual(len(found.rows), 12)
        self.assertEqual(found.shortcomings(), [])
        self.assertEqual(found.facts["command"], "./dev bench run toy --seconds=1.5")
        self.assertEqual(found.facts["seconds"], 1.5)
        self.assertEqual(found.facts["versions"], {"toy": "1.2"})
        self.assertEqual(found.facts["machine"]["cores"],
                         len(os.sched_getaffinity(0)))
        self.assertIn("16,000 · 2.00×", out)
        table = (self.folder / "toy" / "results.csv").read_text(encoding="utf-8").splitlines()
        self.assertEqual(table[:2], ["round,clients,peer,calls_per_s,p50_us,error",
                                     "0,1,a,1000,12.5,"])

    def test_what_fails_leaves_its_error_and_the_others_go_on(self):
        def breaks(peer, point, seconds):
            if peer == "b" and point["clients"] == 8:
                raise experiment.Failed("the server went away")
            return speed(peer, point, seconds)

        status, out, errors = self.tool(toy(breaks), "run", "toy")
        self.assertEqual(status, 1)
        self.assertIn("10 of 12 measured, 2 failed", out)
        self.assertIn("failed: b at 8 clients: the server went away", errors)
        found = self.results()
        self.assertEqual([row["error"] for row in found.errors()], ["the server went away"] * 2)
        self.assertEqual(found.shortcomings(),
                         ["failed every time: b at 8 clients: the server went away"])

    def test_a_short_run_is_not_complete(self):
        self.tool(toy(), "run", "toy", "--seconds", "0.5")
        self.assertEqual(self.results().shortcomings(),
                         ["shorter than by default: 2 rounds of 1 s"])

    def test_what_is_no_number_is_a_failure(self):
        for value in (None, "7", float("nan")):
            with self.subTest(value):
                status, _, _ = self.tool(toy(lambda *_: {"p50_us": value}), "run", "toy")
                self.assertEqual(status, 1)
                self.assertIn("no number", self.results().errors()[0]["error"])

    def test_an_interrupted_run_keeps_what_was_measured(self):
        turns = []

        def interrupted(peer, point, seconds):
            turns.append(peer)
            if len(turns) == 4:
                raise KeyboardInterrupt
            return speed(peer, point, seconds)

        status, out, _ = self.tool(toy(interrupted), "run", "toy")
        self.assertEqual(status, 130)
        self.assertEqual(len(self.results().rows), 3)
        self.assertEqual(self.results().shortcomings(), ["it ended after 3 of 12 measurements"])
        self.assertIn("3 of 12 measured", out)
        self.assertTrue((self.folder / "toy" / "results.csv").exists())

    def test_the_run_before_is_kept(self):
        self.tool(toy(), "run", "toy", "--rounds", "3")
        self.tool(toy(), "run", "toy", "--rounds", "1")
        before = results.read(self.folder / "toy" / "results.before.json")
        self.assertEqual((before.facts["rounds"], self.results().facts["rounds"]), (3, 1))

    def test_what_does_not_open_is_said_and_leaves_the_run_before(self):
        self.tool(toy(), "run", "toy")

        @contextlib.contextmanager
        def closed(settings):
            raise experiment.Failed("there is no server")
            yield

        status, _, errors = self.tool(toy(open=closed), "run", "toy")
        self.assertEqual(status, 1)
        self.assertIn("toy: there is no server", errors)
        self.assertEqual(len(self.results().rows), 12)

    def test_options_are_other_results(self):
        local = experiment.Option("--local", "sockets", "tcp", ("tcp", "shm"))
        sizes = experiment.Option("--bytes", "sizes", [64, 512], quick=[64])
        split = experiment.Option("--split", "cores", False)
        one = toy(options=[local, sizes, split],
                  points=lambda settings: [{"clients": size} for size in settings.bytes])
        for words, name in (([], "toy"), (["--quick"], "toy-quick"), (["--local", "tcp"], "toy"),
                            (["--local=shm", "--split"], "toy-local-shm-split"),
                            (["--bytes=1,2,3"], "toy-bytes-1_2_3")):
            with self.subTest(name):
                self.assertEqual(self.tool(one, "run", "toy", *words)[0], 0)
                found = self.results(name)
                again = found.facts["command"].split()[4:]
                self.assertEqual(options.settings_of(one, again).name, name)
        self.assertEqual(self.results("toy-quick").points, [{"clients": 64}])

    def test_a_warm_up_is_made_once_and_not_counted(self):
        lengths = []

        def timed(peer, point, seconds):
            lengths.append(seconds)
            return speed(peer, point, seconds)

        self.tool(toy(timed, warm_up=0.25, points=[{"clients": 1}]), "run", "toy")
        self.assertEqual(sorted(lengths), 3 * [0.25] + 6 * [1])
        self.assertEqual(len(self.results().rows), 6)

    def test_a_plan_measures_nothing(self):
        status, out, _ = self.tool(toy(lambda *_: self.fail()), "run", "toy", "--plan")
        self.assertEqual(status, 0)
        self.assertIn("2 peers and a control, 2 points, 2 rounds of 1 s: 12 measurements, 12 s at least", out)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_peers_can_be_chosen(self):
        self.tool(toy(), "run", "toy", "--peer", "b")
        self.assertEqual(self.results().peers, ["b"])
        self.assertEqual(self.results().shortcomings(), ["without a"])
        with self.assertRaises(SystemExit):
            self.tool(toy(), "run", "toy", "--peer", "c")


class Links(html.parser.HTMLParser):
    """Finds the files that a browser would load for a page, and the page's anchors."""

    def __init__(self, page):
        super().__init__()
        self.fetched, self.ids, self.inside = [], set(), set()
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.add(value)
            if name in ("src", "href", "xlink:href", "srcset", "data", "poster"):
                if value.startswith("#"):
                    self.inside.add(value[1:])
                else:
                    self.fetched.append(value)
        if tag in ("script", "iframe", "link", "object", "embed"):
            self.fetched.append(tag)


class Reports(Tool):
    def measured(self, one=None, **facts):
        one = one or toy()
        self.tool(one, "run", "toy")
        found = self.results()
        found.facts.update(facts)
        return one, found

    def test_the_page_has_numbers_command_machine_and_commit(self):
        one, found = self.measured(changed=True)
        page = report.page([found], lambda name: one)
        for words in ("16,000", "2.00×", "./dev bench run toy", "0123456789 with changes",
                      found.facts["machine"]["processor"], "Which is quicker?", "toy 1.2"):
            self.assertIn(words, page)
        drawing = page[page.index("<figure>"):page.index("</figure>")]
        self.assertIn("./dev bench run toy", drawing)

    def test_the_page_fetches_nothing(self):
        one, found = self.measured()
        page = report.page([found], lambda name: one)
        links = Links(page)
        self.assertEqual(links.fetched, [])
        self.assertLessEqual(links.inside, links.ids)
        self.assertEqual([url for url in re.findall(r"url\(([^)]*)\)", page) if url[0] != "#"], [])
        self.assertNotIn("@import", page)

    def test_what_was_measured_is_shown_as_text(self):
        one, found = self.measured(toy(title="<b>bold</b> & more"))
        self.assertNotIn("<b>bold", report.page([found], lambda name: one))

    def test_what_is_not_complete_says_so(self):
        one, found = self.measured()
        self.assertNotIn("Not a complete result", report.page([found], lambda name: one))
        found.rows.pop()
        self.assertIn("Not a complete result: it ended after 11 of 12 measurements",
                      report.page([found], lambda name: one))

    def test_machines_of_different_kinds_are_shown_apart(self):
        one, found = self.measured()
        other = copy.deepcopy(found)
        other.facts["name"] = "toy-there"
        other.facts["machine"].update(processor="Another", cores=64)
        page = report.page([found, other], lambda name: one)
        here = page.index(f"On {report.text(machine.kind(found.facts['machine']))}</h2>")
        there = page.index("On Another, 64 cores</h2>")
        self.assertLess(here, page.index('<section id="toy">'))
        self.assertLess(page.index('<section id="toy">'), there)
        self.assertLess(there, page.index('<section id="toy-there">'))

    def test_goals_are_judged(self):
        def goal(**bound):
            return experiment.Goal("wanted", "calls_per_s", "b", {"clients": 8}, **bound)

        for to, ratio in (({"to": "a"}, 2), ({"to_point": {"clients": 1}}, 8),
                          ({"to": "a", "to_point": {"clients": 1}}, 16), ({}, 16000)):
            for bound, kept in (({"at_least": ratio}, "yes"), ({"at_least": ratio + 0.1}, "no"),
                                ({"at_most": ratio}, "yes"), ({"at_most": ratio - 0.1}, "no")):
                with self.subTest(to, bound=bound):
                    one, found = self.measured(toy(goals=[goal(**to, **bound)], charts=[]))
                    self.assertIn(f">{kept}</td>", report.page([found], lambda name: one))

    def test_a_goal_at_a_point_that_was_not_measured(self):
        for at, to in ((8, 3), (3, 8)):
            goal = experiment.Goal("wanted", "calls_per_s", "b", {"clients": at}, to_point={"clients": to}, at_least=1)
            one, found = self.measured(toy(goals=[goal], charts=[]))
            self.assertIn(">not measured</td>", report.page([found], lambda name: one))

    def test_a_value_that_no_row_has_gets_no_table(self):
        one, found = self.measured(toy(units={"calls_per_s": "calls/s", "p50_us": "µs", "odd_us": "µs"}))
        shown = [tables.of_chart(chart.Lines(key, "clients", "Title"), found, one) for key in ("calls_per_s", "odd_us")]
        self.assertEqual(list(map(len, shown)), [1, 0])

    def test_a_file_that_is_no_result_is_left_out(self):
        one, _ = self.measured()
        for content in ('{"format": 0, "rows": []}', "{", '{"format": 1, "rows": []}'):
            with self.subTest(content):
                (self.folder / "other").mkdir(exist_ok=True)
                (self.folder / "other" / results.FILE).write_text(content)
                status, out, errors = self.tool(one, "report")
                self.assertEqual(status, 0)
                self.assertIn("other/results.json is left out", errors)
                page = (self.folder / report.FILE).read_text(encoding="utf-8")
                self.assertEqual(page.count("<section"), 1)


    def test_of_some_results_alone(self):
        one, _ = self.measured()
        self.tool(one, "run", "toy", "--quick")
        for words, count in (([], 2), (["toy"], 1), (["toy", "toy-quick"], 2)):
            self.assertEqual(self.tool(one, "report", *words)[0], 0)
            page = (self.folder / report.FILE).read_text(encoding="utf-8")
            self.assertEqual(page.count("<section"), count)
        status, _, errors = self.tool(one, "report", "boat")
        self.assertEqual(status, 2)
        self.assertIn("there is no result boat", errors)


class Documents(Tool):
    def documents(self, one, *more):
        return self.tool(one, "report", "--docs", "--docs-folder", str(self.folder / "docs"), *more)

    def test_complete_results_become_a_document(self):
        one = toy()
        self.tool(one, "run", "toy")
        kept = self.folder / "docs" / "results"
        kept.mkdir(parents=True)
        (kept / "toy.md").write_text("Said by hand.\n")
        status, _, errors = self.documents(one)
        self.assertEqual(status, 0, errors)
        text = (self.folder / "docs" / "results.md").read_text(encoding="utf-8")
        for words in ("`./dev bench run toy`", "Said by hand.", "16,000 · 2.00×",
                      "commit 0123456789"):
            self.assertIn(words, text)
        pages = pathlib.Path(__file__).resolve().parents[2] / "docs"
        for link in re.findall(r"\]\(([^)#]+)\)", text):
            self.assertTrue((self.folder / "docs" / link).exists() or (pages / link).exists(), link)
        self.assertEqual(results.read(kept / "toy.json").rows, self.results().rows)

    def test_incomplete_results_are_refused_and_named(self):
        one = toy()
        for words, why in ((["--quick"], "it was a --quick run"), (["--peer", "a"], "without b")):
            with self.subTest(why):
                self.tool(one, "run", "toy", *words)
                status, _, errors = self.documents(one)
                self.assertEqual(status, 1)
                self.assertIn(f"is not taken into the documents: {why}", errors)
                self.assertEqual(list(self.folder.glob("docs/results/*.json")), [])

    def test_what_was_complete_before_stays(self):
        one = toy()
        self.tool(one, "run", "toy", "--rounds", "3")
        self.documents(one)
        self.tool(one, "run", "toy", "--peer", "a")
        self.assertEqual(self.documents(one)[0], 1)
        self.assertEqual(results.read(self.folder / "docs/results/toy.json").facts["rounds"], 3)
        self.assertIn("rounds=3", (self.folder / "docs" / "results.md").read_text())


    def test_what_a_model_computed_says_so(self):
        one = toy(model=lambda settings: experiment.Model("fast-hosts", 0.02), seconds=1)
        busy = quiet.Sample(2, 1.84, {})
        status, out, errors = self.tool(one, "run", "toy", sample=busy)  # other processes change no computed value
        self.assertEqual(status, 0)
        self.assertIn("2 peers, 2 points, 1 round of 0.02 s: 4 measurements", errors)
        self.assertIn("computed, without noise", out)
        found = self.results()
        self.assertEqual((found.facts["machine"], found.facts["control"]), ({"modelled": "fast-hosts"}, None))
        self.assertEqual(found.shortcomings(), [])
        self.assertEqual(self.documents(one)[0], 0)
        text = (self.folder / "docs" / "results.md").read_text(encoding="utf-8")
        self.assertRegex(text, "Computed on .*; modelled hosts: fast-hosts; for 0.02 s of virtual time; toy 1.2;")
        self.assertIn("The values were computed, so they have no noise.", text)
        self.assertNotIn("≈: within", text)

    def test_only_the_plots_that_narratives_show_are_written(self):
        one = toy(charts=[chart.Lines("calls_per_s", "clients", "Calls"),
                          chart.Lines("p50_us", "clients", "Latency", in_docs=False)])
        self.tool(one, "run", "toy")
        kept = self.folder / "docs" / "results"
        kept.mkdir(parents=True)
        (kept / "toy-plot-old.svg").write_text("no document shows it")
        (kept / "toy.md").write_text("Seen:\n\n![Calls](results/toy-plot-calls.svg)\n")
        self.assertEqual(self.documents(one)[0], 0)
        self.assertEqual([file.name for file in kept.glob("*.svg")], ["toy-plot-calls.svg"])
        text = (self.folder / "docs" / "results.md").read_text(encoding="utf-8")
        self.assertEqual(text.count("](results/toy-plot-calls.svg)"), 1)
        self.assertIn("**calls per s, calls/s", text)
        self.assertNotIn("**p50, µs", text)  # in_docs=False: only report.html has its table

    def test_a_narrative_that_shows_what_is_no_chart_is_refused(self):
        one = toy()
        self.tool(one, "run", "toy")
        kept = self.folder / "docs" / "results"
        kept.mkdir(parents=True)
        (kept / "toy.md").write_text("![Boats](results/toy-plot-boats.svg)\n")
        status, _, errors = self.documents(one)
        self.assertEqual(status, 1)
        self.assertRegex(errors, "results.md is not written: .*toy.md shows toy-plot-boats.svg; "
                                 "there are: toy-plot-calls.svg")

    def test_a_page_of_the_published_results(self):
        one = toy()
        self.tool(one, "run", "toy")
        self.documents(one)
        (self.folder / "toy" / results.FILE).unlink()
        status, out, _ = self.documents(one, "--published")
        self.assertEqual(status, 0)
        self.assertIn("published.html", out)
        self.assertIn("16,000", (self.folder / report.PUBLISHED_FILE).read_text(encoding="utf-8"))


class Published(unittest.TestCase):
    """Checks the files in docs/results."""

    DOCS = BENCH.parent / "docs"

    def test_it_has_no_plot_that_no_document_shows(self):
        pages = [*self.DOCS.glob("*.md"), *self.DOCS.glob("results/*.md"), BENCH.parent / "README.md"]
        shown = set(re.findall(r"results/([^)\s]+\.svg)\)",
                               "".join(page.read_text(encoding="utf-8") for page in pages)))
        self.assertEqual({file.name for file in self.DOCS.glob("results/**/*.svg")}, shown)

    def test_nothing_else_lies_there(self):
        kinds = {file.suffix for file in (self.DOCS / "results").iterdir()}
        self.assertLessEqual(kinds, {".json", ".md", ".svg"})

    def test_the_page_is_what_the_tool_makes_of_the_results(self):
        made = docs.text(self.DOCS, experiment.load)
        self.assertEqual(made, (self.DOCS / "results.md").read_text(encoding="utf-8"),
                         "docs/results.md is out of date; run ./dev bench report --docs")


class Processes(Tool):
    def test_they_end_with_the_group_even_those_that_do_not_want_to(self):
        stubborn = "trap '' TERM; echo listening; while :; do sleep 0.1; done"
        with mock.patch.object(processes, "END_SECONDS", 0.3):
            with self.assertRaises(ZeroDivisionError), processes.Group() as group:
                started = [group.start(["sleep", "600"], self.folder / "log"),
                           group.start(["bash", "-c", stubborn], self.folder / "log",
                                       stdout=subprocess.PIPE)]
                self.assertEqual(processes.first_line(started[1]), "listening")
                raise ZeroDivisionError
        self.assertEqual([one.poll() for one in started], [-signal.SIGTERM, -signal.SIGKILL])

    def test_one_that_ends_says_why(self):
        with processes.Group() as group:
            ended = group.start(["bash", "-c", "echo no such port >&2; exit 3"],
                                self.folder / "log", stdout=subprocess.PIPE)
            with self.assertRaisesRegex(experiment.Failed, "bash ended, status 3: no such port"):
                processes.first_line(ended)

    def test_clients_that_fail_say_why(self):
        for script, why in (("echo broken >&2; exit 2", "exit status 2: broken"),
                            ("echo hello", "no JSON")):
            with self.subTest(why), self.assertRaisesRegex(experiment.Failed, why):
                processes.run_client(["bash", "-c", script], 1)

    def test_without_haproxy_its_rows_say_what_to_install(self):
        peers = ways.Peers({"HAProxy pair": lambda: ways.haproxy_pair(None, None),
                            "other": lambda: "works"})
        with mock.patch("shutil.which", return_value=None):
            for _ in range(2):
                with self.assertRaisesRegex(experiment.Failed, "apt-get install haproxy"):
                    peers["HAProxy pair"]
        self.assertEqual(peers["other"], "works")


class Experiments(unittest.TestCase):
    def test_every_experiment_fits_together(self):
        for name in experiment.names():
            one = experiment.load(name)
            for words in ([], ["--quick"]):
                with self.subTest(name, words=words):
                    settings = options.settings_of(one, words)
                    self.assertEqual(one.name, name)
                    points = one.points_of(settings)
                    self.assertTrue(points and settings.peers)
                    self.assertEqual(len({tuple(point) for point in points}), 1)
                    self.assertEqual(len({str(point) for point in points}), len(points))
                    for each in one.charts:
                        self.assertIn(each.y, one.units)
                        self.assertTrue(each.x in points[0] or
                                        each.x is None and isinstance(each, chart.Bars))
                        self.assertLessEqual({each.to} - {None}, set(settings.peers))
                        self.assertLessEqual(set(each.peers), self.peers_with_any_option(one))

    def peers_with_any_option(self, one):
        return {peer for words in [[], *self.choices(one)] for peer in options.settings_of(one, words).peers}

    def choices(self, one):
        return [[option.flag, str(choice)] for option in one.options for choice in option.choices or ()]

    def test_goals_are_of_one_point_each(self):
        for name in experiment.names():
            one = experiment.load(name)
            for flag, choice in [(None, None), *self.choices(one)]:
                settings = options.settings_of(one, [flag, choice] if flag else [])
                points = one.points_of(settings)
                for goal in one.goals_of(settings.options):
                    with self.subTest(name, goal=goal.words):
                        for part in (goal.point, goal.to_point or goal.point):
                            found = [each for each in points if part.items() <= each.items()]
                            self.assertEqual(len(found), 1)
                        self.assertIn(goal.value, one.units)
                        self.assertLessEqual({goal.peer, goal.to or goal.peer}, set(settings.peers))


class Echo(unittest.TestCase):
    """Runs the real experiment echo, with few points and short measurements."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hatrpc-tool-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.mark = uuid.uuid4().hex

    def start(self, *words):
        run = subprocess.Popen(
            [sys.executable, "-m", "tool", "run", "echo", "--bin", PROGRAMS, "--out", self.folder,
             *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "PYTHONPATH": str(BENCH), "TMPDIR": str(self.folder),
                 "HATRPC_TEST_MARK": self.mark})
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        return run

    def left(self):
        """Returns the command lines of the run's processes that still run."""
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" "))
        return found

    def test_a_tiny_run(self):
        for seconds in (0.1, 1, 10):  # on a busy machine, a short measurement can have no answer
            run = self.start("--quick", "--seconds", str(seconds), "--rounds", "1", "--peer",
                             "direct", "--peer", "hatrpcd, TCP lanes")
            said = run.communicate(timeout=WAIT_SECONDS + 10 * seconds)[0]
            if run.returncode == 0:
                break
            self.assertIn("no call ended during the measurement", said)
        self.assertEqual(run.returncode, 0, said)
        found = results.read(self.folder / "echo-quick" / results.FILE)
        self.assertEqual(len(found.rows), 6)
        for row in found.rows:
            self.assertGreater(row["values"]["calls_per_s"], 0)
            self.assertGreater(row["values"]["p50_us"], 0)
            sidecars = [row["values"].get(f"{side}_sidecar_cpu_us", 0) for side in ("client", "server")]
            self.assertAlmostEqual(row["values"]["sidecar_cpu_us"], sum(sidecars))
            self.assertEqual(min(sidecars) > 0, row["peer"].startswith("hatrpcd"))
        self.assertEqual(self.left(), [])

    def test_whatever_ends_it_its_rows_stay_and_its_processes_end(self):
        for how, status in ((signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9)):
            with self.subTest(how):
                run = self.start("--busy-anyway", "--seconds", "0.1", "--rounds", "500", "--peer",
                                 "direct", "--peer", "hatrpcd, TCP lanes", "--clients", "1",
                                 "--bytes", "64")
                file = self.folder / "echo-clients-1-bytes-64" / results.FILE
                file.unlink(missing_ok=True)
                end = time.monotonic() + WAIT_SECONDS
                while not (file.exists() and len(results.read(file).rows) > 2):
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.02)
                self.assertNotEqual(self.left(), [])
                run.send_signal(how)
                said = run.communicate(timeout=WAIT_SECONDS)[0]
                self.assertEqual(run.returncode, status, said)
                self.assertGreater(len(results.read(file).rows), 2)
                end = time.monotonic() + WAIT_SECONDS
                while how == signal.SIGKILL and self.left():  # the killed tool has not waited for its processes
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.02)
                self.assertEqual(self.left(), [])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
