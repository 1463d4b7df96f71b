#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tests/man_pages.py: checks the manual pages (docs/man) with groff, and compares them with each program's --help and
# with `hatrpcd --check`.
"""usage: man_pages.py HATRPCD HATCTL HINTGEN HATKV HATKV_YCSB"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HATRPCD, HATCTL, HINTGEN, HATKV, HATKV_YCSB = sys.argv[1:6]
ROOT = pathlib.Path(__file__).resolve().parent.parent
MAN = ROOT / "docs" / "man"
KV_COMMANDS = ["serve", "get", "put", "del", "scan", "load", "stats", "backup"]
COMMANDS = ["status", "routes", "top", "slow", "explain", "peers", "connections", "reload", "advise", "drain",
            "calibrate", "certs", "doctor", "what-if", "ping", "metrics", "run"]


def output(*words):
    return subprocess.run(words, text=True, capture_output=True, check=True).stdout


def options_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def page_text(name):
    """Returns the source of a manual page, with groff's escapes replaced by their characters."""
    text = (MAN / name).read_text(encoding="utf-8")
    return text.replace(r"\-", "-").replace(r"\(dq", '"')


def examples(name):
    return re.findall(r"(?s)\n\.EX\n(.*?)\n\.EE\n", page_text(name))


def mistakes(files):
    """Writes files to a temporary folder; returns the output of `hatrpcd --check` for them."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            file = pathlib.Path(folder) / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text + "\n", encoding="utf-8")
        done = subprocess.run([HATRPCD, "--check", "-c", pathlib.Path(folder) / "hatrpcd.yaml"], text=True,
                              capture_output=True, check=False)
    return done.stderr


def describes(page, key):
    """Returns True if the page has a heading or a tagged paragraph whose title contains the key."""
    tags = re.findall(r"(?m)^\.(?:B|BR|SS) (.*)$", page)
    return any(key in re.split(r'[\s",|]+', tag.strip()) for tag in tags)


class ManPages(unittest.TestCase):
    def test_groff_has_nothing_to_warn_of(self):
        for page in sorted(MAN.iterdir()):
            with self.subTest(page.name):
                done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", page], text=True,
                                      capture_output=True, check=True)
                self.assertEqual(done.stderr, "")

    def test_each_has_what_readers_look_for(self):
        for page in sorted(MAN.iterdir()):
            text = page_text(page.name)
            for section in ("NAME", "DESCRIPTION", "EXAMPLES", "SEE ALSO"):
                with self.subTest(page.name, section=section):
                    self.assertRegex(text, rf"(?m)^\.SH {section}$")

    def test_hatrpcd_has_the_options_of_its_help(self):
        shown = options_in(output(HATRPCD, "--help"))
        self.assertIn("--check", shown)
        # Ignore --dry-run, which the page has in an example of hatctl.
        self.assertEqual(options_in(page_text("hatrpcd.8")) - {"--dry-run"}, shown - {"--dry-run"})

    def test_hatctl_has_the_options_and_commands_of_its_help(self):
        shown = options_in(output(HATCTL, "--help"))
        for command in COMMANDS:
            shown |= options_in(output(HATCTL, command, "--help"))
        page = page_text("hatctl.1")
        self.assertEqual(options_in(page), shown)
        for command in COMMANDS:
            self.assertRegex(page, rf"(?m)^\.TP\n\.B {command}$")

    def test_hintgen_has_the_options_of_its_help(self):
        # Ignore --gen, which the page has in an example of the stock Thrift compiler.
        self.assertEqual(options_in(page_text("hintgen.1")) | {"--gen"},
                         options_in(output(HINTGEN, "--help")) | {"--gen"})

    def test_hatkv_has_the_options_and_commands_of_its_help(self):
        shown = options_in(output(HATKV, "--help"))
        for command in KV_COMMANDS:
            shown |= options_in(output(HATKV, command, "--help"))
        page = page_text("hatkv.1")
        self.assertEqual(options_in(page), shown)
        for command in KV_COMMANDS:
            self.assertRegex(page, rf'(?m)^\.TP\n\.(B|BI|BR) {command}( "|$)')

    def test_hatkv_ycsb_has_the_options_of_its_help(self):
        self.assertEqual(options_in(page_text("hatkv-ycsb.1")),
                         options_in(output(HATKV_YCSB, "--help")))

    def test_each_program_names_its_version(self):
        self.assertRegex(output(HATKV, "--version"), r"^hatkv \d+\.\d+\.\d+\n$")
        self.assertRegex(output(HATRPCD, "--version"), r"^hatrpcd \d+\.\d+\.\d+\n$")
        self.assertRegex(output(HATCTL, "--version"), r"^hatctl \d+\.\d+\.\d+\n$")

    def test_every_key_of_every_file_is_described(self):
        pages = {"configuration": page_text("hatrpcd.yaml.5"), "manifest": page_text("hatrpc-manifest.5"),
                 "profile": page_text("hatrpc-profile.5")}
        said = mistakes({
            "hatrpcd.yaml": "zz: 1\nlink: {zz: 1, tls: {zz: 1}}\npeers: {b: {zz: 1}}\nendpoints: [{zz: 1}]\n"
                            "serves: {S: {zz: 1}}\nadmin: {zz: 1}\nlimits: {zz: 1}\n"
                            "fabric: {zz: 1, faults: {zz: 1}}\n"})
        said += mistakes({
            "hatrpcd.yaml": "node: a\nmanifests: [manifest.yaml]\nprofile: profile.yaml\n",
            "manifest.yaml": "zz: 1\nservices: {S: {zz: 1, hint: {zz: 1}, functions: {f: {zz: 1}}}}\n",
            "profile.yaml": "zz: 1\ncosts_ns: {zz: 1}\n"})
        lists = re.findall(r"(\w+)\.yaml:\d+:\d+: error: unknown (?:key|hint) 'zz'(.*); expected one of (.*)", said)
        self.assertEqual(len(lists), 16)
        for file, where, keys in lists:
            page = pages.get(file, pages["configuration"])
            for key in keys.split(", "):
                with self.subTest(file + where, key=key):
                    self.assertTrue(describes(page, key))

    def test_a_profile_that_is_shown_is_right(self):
        profile, = examples("hatrpc-profile.5")
        self.assertEqual(mistakes({"hatrpcd.yaml": "node: a\nmanifests: [m.yaml]\nprofile: p.yaml\n",
                                   "m.yaml": examples("hatrpc-manifest.5")[0], "p.yaml": profile,
                                   }), "")

    def test_the_configurations_shown_are_right(self):
        manifest, = examples("hatrpc-manifest.5")
        peers, *nodes = examples("hatrpcd.yaml.5")
        self.assertEqual(len(nodes), 2)
        node = ("node: a\nlink: {insecure: true}\npeer_files: [peers.d]\nmanifests: [manifests]\n"
                "endpoints: [{listen: 'tcp:127.0.0.1:9090', service: HatKV}]\n")
        self.assertEqual(mistakes({"hatrpcd.yaml": node, "peers.d/c.yaml": peers, "manifests/kv.yaml": manifest}), "")
        for example in nodes:
            with self.subTest(example.splitlines()[0]):
                self.assertEqual(mistakes({"hatrpcd.yaml": example, "manifests/kv.yaml": manifest}), "")

    def test_each_is_installed_and_packaged(self):
        rules = (ROOT / "deploy" / "CMakeLists.txt").read_text(encoding="utf-8")
        packages = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "debian").glob("*.install"))
        for page in sorted(MAN.iterdir()):
            with self.subTest(page.name):
                self.assertIn("${man}/" + page.name, rules)
                self.assertIn(f"man{page.suffix[1:]}/{page.name}\n", packages)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[6:]])
