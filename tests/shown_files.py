#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/shown_files.py: checks every complete hatrpcd.yaml and manifest that a page shows, and the IDL of
docs/install.md.

usage: shown_files.py HATRPCD HINTGEN

A fenced block is a complete file if it begins with `node:`, `hatrpc_manifest:` or `services:`. The pages are README.md,
docs/*.md and deploy/*/README.md.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HATRPCD, HINTGEN = sys.argv[1:3]
ROOT = pathlib.Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs" / "install.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "deploy").glob("*/README.md"))]


def blocks(page, begins):
    """Yields the fenced blocks of a page that match the regular expression `begins`, without their indentation."""
    for indent, block in re.findall(r"(?ms)^( *)```\w*\n(.*?)^ *```$", page.read_text(encoding="utf-8")):
        block = re.sub(rf"(?m)^{indent}", "", block)
        if re.match(begins, block):
            yield block


def run(*words):
    done = subprocess.run(words, text=True, capture_output=True, check=False)
    return done.returncode, done.stderr


class ShownFiles(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "manifests").mkdir()

    def check(self, node, manifest):
        """Runs `hatrpcd --check` on a configuration and a manifest; returns its exit status and stderr."""
        (self.folder / "hatrpcd.yaml").write_text(node, encoding="utf-8")
        (self.folder / "manifests" / "shown.yaml").write_text(manifest, encoding="utf-8")
        return run(HATRPCD, "--check", "--config", self.folder / "hatrpcd.yaml")

    def each(self, begins, judge):
        found = [(page, block) for page in PAGES for block in blocks(page, begins)]
        self.assertTrue(found)
        for page, block in found:
            with self.subTest(page.relative_to(ROOT), begins=block.splitlines()[0]):
                self.assertEqual(judge(block), (0, ""))

    def test_nodes(self):
        def judge(block):
            services = set(re.findall(r"service: (\w+)|^  (\w+): \{upstream", block, re.MULTILINE))
            names = sorted({name for pair in services for name in pair if name})
            return self.check(block, "hatrpc_manifest: 1\nservices: {%s}\n"
                              % ", ".join(f"{name}: {{}}" for name in names))

        self.each("node:", judge)

    def test_manifests(self):
        def judge(block):
            version = "" if block.startswith("hatrpc_manifest:") else "hatrpc_manifest: 1\n"
            return self.check("node: a\nmanifests: [manifests]\n", version + block)

        self.each("hatrpc_manifest:|services:", judge)

    def test_the_idl(self):
        block, = blocks(GUIDE, r"service \w+ \{")
        (self.folder / "shown.thrift").write_text(block, encoding="utf-8")
        self.assertEqual(run(HINTGEN, "--check", self.folder / "shown.thrift"), (0, ""))

    def test_the_guide_has_what_one_pastes(self):
        for begins in ("node: host-a\n", "node: host-b\n", r"service Calculator \{", r"apt install \./hatrpcd_"):
            self.assertEqual(len(list(blocks(GUIDE, begins))), 1, begins)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
