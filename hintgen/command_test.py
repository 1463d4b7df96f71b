#!/usr/bin/env python3
"""hintgen/command_test.py: the command's exit status, and the files that it writes and does not.

  command_test.py HINTGEN
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
HINTGEN = None  # set from the command line
SECONDS_MAX = 20
GOOD = "service S {\n  hint: polling=busy;\n  void f()\n}\n"
BAD = "service S {\n  hint: poling=busy;\n  void f(1: strng s)\n}\n"


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="hintgen-command-")
        self.addCleanup(self.folder.cleanup)
        self.at = pathlib.Path(self.folder.name)
        self.write("good.thrift", GOOD)
        self.write("bad.thrift", BAD)

    def write(self, name, text):
        path = self.at / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_hintgen(self, *arguments):
        return subprocess.run([HINTGEN, *arguments], cwd=self.at, capture_output=True, text=True,
                              timeout=SECONDS_MAX)

    def test_good_input_ends_with_0_in_silence(self):
        for mode in ([], ["--check"], ["--explain"], ["--strip"], ["--annotate"], ["--dump"]):
            with self.subTest(mode=mode):
                done = self.run_hintgen(*mode, "good.thrift")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertTrue(done.stdout.endswith("\n"), done.stdout)

    def test_explain_says_whether_rdma_is_assumed(self):
        for words, said in (([], "RDMA assumed (--no-rdma: without)"), (["--rdma"], "RDMA"),
                            (["--no-rdma"], "no RDMA")):
            with self.subTest(words=words):
                done = self.run_hintgen("--explain", "--cores", "2", *words, "good.thrift")
                self.assertEqual(done.stdout.partition("\n")[0], f"Host: 2 cores, 2 near the NIC, {said}")

    def test_mistakes_end_with_1_and_are_counted(self):
        done = self.run_hintgen("--check", "bad.thrift")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^bad\.thrift:2:9: error: unknown hint 'poling'")
        self.assertIn("\nbad.thrift:3:13: error: unknown type 'strng'", done.stderr)
        self.assertTrue(done.stderr.endswith("hintgen: 2 errors\n"), done.stderr)

    def test_a_file_that_is_not_there_ends_with_1(self):
        done = self.run_hintgen("nope.thrift")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nope.thrift: error: there is no such file", done.stderr)

    def test_usage_ends_with_2_and_points_to_help(self):
        for arguments in ([], ["--chek", "good.thrift"], ["-o"]):
            with self.subTest(arguments=arguments):
                done = self.run_hintgen(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertTrue(done.stderr.startswith("hintgen: "), done.stderr)
        self.assertIn("(did you mean '--check'?)", self.run_hintgen("--chek", "x").stderr)

    def test_help_and_version_need_no_file(self):
        done = self.run_hintgen("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("hintgen kv.thrift -o kv.yaml", done.stdout)
        self.assertRegex(self.run_hintgen("--version").stdout, r"^hintgen \d+\.\d+")

    def test_output_goes_to_the_file_as_to_standard_output(self):
        done = self.run_hintgen("good.thrift", "-o", "good.yaml")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual((self.at / "good.yaml").read_text(),
                         self.run_hintgen("good.thrift", "-o", "-").stdout)
        self.assertFalse((self.at / "good.yaml.new").exists())

    def test_mistakes_leave_the_file_as_it_was(self):
        self.write("kept.yaml", "kept\n")
        self.assertEqual(self.run_hintgen("bad.thrift", "-o", "kept.yaml").returncode, 1)
        self.assertEqual((self.at / "kept.yaml").read_text(), "kept\n")

    def test_an_output_that_cannot_be_written_ends_with_1(self):
        done = self.run_hintgen("good.thrift", "-o", "no/such/folder.yaml")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write 'no/such/folder.yaml.new': No such file", done.stderr)
        self.assertEqual(self.run_hintgen("good.thrift", "-o", "/dev/full").returncode, 1)

    def test_includes_are_looked_for_in_the_folders_given(self):
        self.write("lib/base.thrift", "service Base {\n  hint: numa=nic;\n  void ping()\n}\n")
        self.write("main.thrift", 'include "base.thrift"\nservice S extends base.Base {}\n')
        without = self.run_hintgen("main.thrift")
        self.assertEqual(without.returncode, 1)
        self.assertIn("main.thrift:1:9: warning: ", without.stderr)
        self.assertIn("main.thrift:2:19: error: unknown service 'base.Base': 'base.thrift' was not "
                      "found", without.stderr)
        done = self.run_hintgen("-I", "lib", "main.thrift")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("numa: nic", done.stdout)
        self.assertIn("ping:\n        origin: lib/base.thrift:3:8", done.stdout)

    def test_examples_of_the_documentation_are_real(self):
        page = (DOCS / "hintgen.md").read_text()
        named = re.findall(r"(?s)`([\w/]+\.thrift)`[^`]*\n```thrift\n(.*?)```", page)
        self.assertEqual([name for name, _ in named],
                         ["calculator.thrift", "bad.thrift", "lib/common.thrift", "clock.thrift"])
        for name, text in named:
            self.write(name, text)
        shown = re.findall(r"(?s)```\n\$ hintgen (.*?)\n(.*?)```", page)
        self.assertEqual(len(shown), 5)
        for arguments, output in shown:
            with self.subTest(arguments):
                done = self.run_hintgen(*arguments.split())
                self.assertEqual(done.stdout + done.stderr, output)

    def test_examples_of_the_manual_are_real(self):
        page = (DOCS / "man" / "hintgen.1").read_text()
        for escaped, character in ((r"\-", "-"), (r"\(aq", "'"), (r"\(ha", "^"),
                                   (r"\(ga", "`")):
            page = page.replace(escaped, character)
        _, idl, mistakes, manifest = re.findall(r"(?s)\n\.EX\n(.*?\n)\.EE\n", page)
        self.write("store.thrift", idl)
        done = self.run_hintgen("--check", "store.thrift")
        self.assertEqual("$ hintgen --check store.thrift\n" + done.stderr, mistakes)
        self.write("store.thrift", idl.replace("gaol", "goal").replace("bussy", "busy"))
        done = self.run_hintgen("store.thrift")
        self.assertEqual("$ hintgen store.thrift\n" + done.stdout, manifest)


if __name__ == "__main__":
    HINTGEN = str(pathlib.Path(sys.argv[1]).resolve())
    unittest.main(argv=sys.argv[:1])
