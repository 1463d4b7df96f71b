#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hintgen/command_test.py: tests hintgen's exit status, and which files it writes and which it does not.

  command_test.py HINTGEN
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

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
        for mode in ([], ["--cpp"], ["--check"], ["--explain"], ["--strip"], ["--annotate"], ["--dump"]):
            with self.subTest(mode=mode):
                done = self.run_hintgen(*mode, "good.thrift")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertTrue(done.stdout.endswith("\n"), done.stdout)

    def test_explain_says_whether_rdma_is_assumed(self):
        for words, said in (([], "RDMA assumed (use --no-rdma if there is none)"), (["--rdma"], "RDMA"),
                            (["--no-rdma"], "no RDMA")):
            with self.subTest(words=words):
                done = self.run_hintgen("--explain", "--cores", "2", *words, "good.thrift")
                self.assertEqual(done.stdout.partition("\n")[0], f"Host: 2 cores, {said}")

    def test_explain_warns_of_hints_that_it_cannot_judge(self):
        self.write("hinted.thrift", "service S {\n  c_hint: numa=1;\n  void f() [ hint: idempotent=true; ]\n"
                                    "  void g() [ hint: numa=nic, priority=high; ]\n  void h() [ hint: numa=any; ]\n}\n")
        done = self.run_hintgen("--explain", "hinted.thrift")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        where = " (`worker_cores` in hatrpcd.yaml); `hatrpcd --check` and `hatctl routes` say whether a host honours it"
        self.assertEqual([line for line in done.stdout.splitlines() if line.startswith("warning")], [
            "warning: S: numa: 1 (f) is honoured only on hosts whose workers run on node 1" + where,
            "warning: S: numa: nic (g) is honoured only on hosts whose workers run on the NUMA node of the RDMA device"
            + where])
        server = self.run_hintgen("--explain", "--side", "server", "hinted.thrift").stdout
        self.assertNotIn("numa: 1", server)
        self.assertIn("numa: nic (g)", server)
        self.assertNotIn("warning", self.run_hintgen("--explain", "good.thrift").stdout)

    def test_explain_warns_of_hints_that_change_nothing_on_the_host(self):
        self.write("idle.thrift", "service S {\n  hint: perf_goal=latency, concurrency=8;\n  void f()\n"
                                  "  void g() [ s_hint: polling=event; ]\n}\n")

        def warnings(*words):
            done = self.run_hintgen("--explain", *words, "idle.thrift")
            return [line for line in done.stdout.splitlines() if line.startswith("warning")]

        same = "the column that it selects has the same plan as the column without it"
        self.assertEqual(warnings("--cores", "8"),
                         [f"warning: S: the hint concurrency: 8 changes nothing in how hatrpcd carries the calls of f, g: {same}"])
        self.assertEqual(warnings("--cores", "28", "--nic-cores", "14"),
                         ["warning: S: the hint concurrency: 8 changes nothing in how hatrpcd carries the calls of f, g: "
                          "it selects the column under, which also applies without the hint"])
        self.assertEqual(warnings("--cores", "4"),
                         ["warning: S: the hint polling: event changes nothing in how hatrpcd carries the calls of g "
                          "(server's side): "
                          "the plan is the same without it"])
        self.assertEqual(warnings("--cores", "4", "--side", "client"), [])

    def test_explain_names_the_row_the_boundary_and_the_cores(self):
        self.write("row.thrift", "service S {\n  hint: perf_goal=res_util, concurrency=15;\n  void f()\n}\n")
        for words, cell in ((["--cores", "28", "--nic-cores", "14"], "full (concurrency=15 is more than the 14 "
                                                                     "near the NIC and at most the 28 cores that hatrpcd may use)"),
                            (["--cores", "15"], "full (concurrency=15 is as many as the 15 cores that hatrpcd may use)"),
                            (["--cores", "16"], "under (concurrency=15 is less than the 16 cores that hatrpcd may use)")):
            with self.subTest(words=words):
                done = self.run_hintgen("--explain", *words, "row.thrift")
                self.assertIn(f"row perf_goal=res_util, column {cell}: ", done.stdout)

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

    def test_a_check_writes_no_file(self):
        self.write("kept.yaml", "kept\n")
        for order in (["--check", "-o", "kept.yaml"], ["-okept.yaml", "--check"]):
            with self.subTest(order=order):
                done = self.run_hintgen(*order, "good.thrift")
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertEqual(done.stderr, "hintgen: --check writes no file, so 'kept.yaml' would not change; remove --check or -o kept.yaml\n")
                self.assertEqual((self.at / "kept.yaml").read_text(), "kept\n")
        self.assertEqual(self.run_hintgen("--check", "-o", "-", "good.thrift").returncode, 0)

    def test_output_does_not_replace_an_idl_file(self):
        self.write("user.thrift", 'include "good.thrift"\nservice T {}\n')
        (self.at / "link.thrift").symlink_to("good.thrift")
        for mode, output in (([], "user.thrift"), ([], "good.thrift"), ([], "./link.thrift"),
                             (["--dump"], "user.thrift"), (["--strip"], "good.thrift")):
            with self.subTest(mode=mode, output=output):
                done = self.run_hintgen(*mode, "user.thrift", "-o", output)
                self.assertEqual((done.returncode, done.stderr), (
                    2, f"hintgen: '{output}' is an IDL file that was read; -o must name another file\n"))
                self.assertEqual((self.at / "good.thrift").read_text(), GOOD)

    def test_a_manifest_that_is_written_anew_keeps_who_may_call(self):
        self.write("s.thrift", "service S {\n  void f()\n  void g()\n}\nservice T { void f() }\n")
        manifest = self.at / "s.yaml"
        self.assertEqual(self.run_hintgen("s.thrift", "-o", "s.yaml").returncode, 0)
        edited = yaml.safe_load(manifest.read_text())
        edited["services"]["S"] |= {"allow": ["host-a", "spiffe://p/*"], "allow_unknown_fields": True}
        edited["services"]["S"]["functions"]["g"] |= {"allow": ["host-b"], "allow_mode": "dry_run"}
        manifest.write_text(yaml.safe_dump(edited))
        self.write("s.thrift", "service S {\n  void f()\n  void g() [ hint: polling=busy; ]\n  void h()\n}\nservice T { void f() }\n")
        self.assertEqual(self.run_hintgen("s.thrift", "-o", "s.yaml").stderr, "")
        service = yaml.safe_load(manifest.read_text())["services"]["S"]
        self.assertEqual((service["allow"], service["allow_unknown_fields"]), (["host-a", "spiffe://p/*"], True))
        self.assertEqual(service["functions"]["g"]["allow"], ["host-b"])
        self.assertEqual(service["functions"]["g"]["allow_mode"], "dry_run")
        self.assertEqual(service["functions"]["g"]["hint"], {"polling": "busy"}, "hints must come from the new IDL")
        self.assertNotIn("allow", service["functions"]["h"])
        self.assertNotIn("allow", self.run_hintgen("s.thrift").stdout, "without -o, no manifest may be read")

        before = manifest.read_text()
        for idl, words in (("service S { void f() }", "for S.g, which the IDL does not have"),
                           ("service T { void f() }", "for S, which the IDL does not have")):
            self.write("s.thrift", idl)
            done = self.run_hintgen("s.thrift", "-o", "s.yaml")
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)
            self.assertEqual(manifest.read_text(), before)
        manifest.write_text("services: {S: {allow: host-a\n")
        done = self.run_hintgen("s.thrift", "-o", "s.yaml")
        self.assertEqual(done.returncode, 1)
        self.assertIn("may have access rules (`allow`), but it cannot be read", done.stderr)
        self.assertEqual(manifest.read_text(), "services: {S: {allow: host-a\n")

    def test_the_header_has_the_manifest(self):
        self.write("kv_store.thrift", "namespace cpp some.kv\nservice Kv { binary get(1: binary key) }\n")
        manifest = self.run_hintgen("kv_store.thrift").stdout
        self.assertEqual(self.run_hintgen("--cpp", "kv_store.thrift", "-o", "manifest.h").returncode, 0)
        self.write("print.cc", '#include "manifest.h"\n#include "manifest.h"\n#include <cstdio>\n'
                               'int main() { std::fputs(some::kv::kKvStoreManifest, stdout); }\n')
        subprocess.run(["c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "print.cc", "-o", "print"], cwd=self.at,
                       check=True, timeout=SECONDS_MAX)
        printed = subprocess.run(["./print"], cwd=self.at, capture_output=True, text=True, check=True,
                                 timeout=SECONDS_MAX).stdout
        self.assertEqual(printed, manifest)

    def test_a_file_may_be_stripped_in_place(self):
        stripped = self.run_hintgen("--strip", "good.thrift").stdout
        self.assertEqual(self.run_hintgen("--strip", "good.thrift", "-o", "good.thrift").returncode, 0)
        self.assertEqual((self.at / "good.thrift").read_text(), stripped)

    def test_output_goes_through_symbolic_links(self):
        expected = self.run_hintgen("good.thrift").stdout
        self.write("folder/file.yaml", "old\n")
        for name, target in (("link.yaml", "folder/second.yaml"),
                             ("folder/second.yaml", self.at / "folder" / "file.yaml"),
                             ("dangling.yaml", "folder/made.yaml"),
                             ("circle.yaml", "circle.yaml")):
            (self.at / name).symlink_to(target)
        for link, file in (("link.yaml", "folder/file.yaml"),
                           ("dangling.yaml", "folder/made.yaml")):
            with self.subTest(link=link):
                done = self.run_hintgen("good.thrift", "-o", link)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertTrue((self.at / link).is_symlink())
                self.assertFalse((self.at / file).is_symlink())
                self.assertEqual((self.at / file).read_text(), expected)
        self.assertTrue((self.at / "folder" / "second.yaml").is_symlink())
        self.assertEqual(list(self.at.rglob("*.new")), [])
        done = self.run_hintgen("good.thrift", "-o", "circle.yaml")
        self.assertEqual((done.returncode, done.stderr), (
            1, "hintgen: cannot write 'circle.yaml': its symbolic links form a loop\n"))

    def test_names_are_texts_to_a_reader_of_yaml_1_1(self):
        words = ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "inf", "nan", "e1")
        spellings = [it for word in words for it in (word, word.capitalize(), word.upper())]
        # `true` and `false` are numbers in Thrift's grammar, not names.
        names = [it for it in dict.fromkeys(spellings) if it not in ("true", "false")]
        functions = "".join(f"  void {name}()\n" for name in names)
        self.write("names.thrift", f"service Base {{\n{functions}}}\n" +
                   "".join(f"service {name} {{}}\n" for name in names))
        manifest = yaml.safe_load(self.run_hintgen("names.thrift").stdout)
        self.assertEqual(list(manifest["services"]), ["Base"] + names)
        self.assertEqual(list(manifest["services"]["Base"]["functions"]), names)

    def test_files_are_texts_to_a_reader_of_yaml_1_1(self):
        for file in ("1", "017", "0x1F", "1_000", "2026-11-23", "1.5", ".5", "1e3", ".inf", "no"):
            self.write(file, GOOD)
            with self.subTest(file=file):
                manifest = yaml.safe_load(self.run_hintgen(file).stdout)
                self.assertEqual(manifest["source"], file)
                self.assertEqual(manifest["services"]["S"]["origin"], file + ":1:9")

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
