#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/k8s/files_test.py: checks files of deploy/k8s against hatrpcd, hintgen and `dev`: files_test.py PROGRAMS."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from deployment import (ENVIRONMENT, K8S, OVERLAYS, ROOT, base_manifests, check, without_tls,
                        write_certificates, write_node)

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
IN_EVERY_IMAGE = {"libc6", "libgcc-s1", "libstdc++6"}  # Debian's apt depends on them


def packages(dockerfile):
    """Returns, for each stage of the Dockerfile, the set of packages that the stage installs."""
    return [set(stage.replace("\\\n", " ").split()) for stage in
            re.findall(r"--no-install-recommends((?:\\\n|[^&\n])*)", dockerfile)]


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def libraries(program):
    """Returns the libraries that a program needs directly, as a map from library name to file."""
    wanted = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", program))
    told = output("ldd", program)
    found = dict(re.findall(r"(\S+) => (\S+)", told))
    # ldd lists the dynamic loader only by its path.
    found |= {os.path.basename(path): path for path in re.findall(r"^\s*(/\S+) \(", told, re.M)}
    return {name: os.path.realpath(found[name]) for name in wanted}


def packages_of(files):
    """Returns the Debian package of each file. Tries /lib too, because dpkg has some files of /usr/lib as /lib."""
    names = [name for file in files for name in (file, file.removeprefix("/usr"))]
    told = subprocess.run(["dpkg", "-S", *names], capture_output=True, text=True, check=False).stdout
    owners = {os.path.realpath(path): package for package, path in
              re.findall(r"^([^:,\s]+)\S*: (/\S+)$", told, re.M)}
    return {file: owners[file] for file in files}


class Files(unittest.TestCase):
    def node_texts(self):
        return {name: (K8S / "overlays" / name / "hatrpcd.yaml").read_text(encoding="utf-8")
                for name in OVERLAYS}

    def test_hatrpcd_takes_each_overlays_file_without_a_warning(self):
        for name, text in self.node_texts().items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                file = write_node(pathlib.Path(folder), text, base_manifests())
                write_certificates(PROGRAMS, pathlib.Path(folder) / "tls")
                self.assertEqual(check(PROGRAMS / "hatrpcd", file), (0, ""))

    def test_without_the_secret_it_says_so_or_runs_insecure_as_the_file_shows(self):
        text = self.node_texts()["no-rdma"]
        with tempfile.TemporaryDirectory() as folder:
            file = write_node(pathlib.Path(folder), text, base_manifests())
            status, told = check(PROGRAMS / "hatrpcd", file)
            self.assertEqual(status, 78)
            self.assertIn("tls.crt: No such file or directory", told)
            file.write_text(without_tls(text), encoding="utf-8")
            self.assertEqual(check(PROGRAMS / "hatrpcd", file), (0, ""))

    def test_each_node_has_its_own_name_and_address(self):
        for variable in ("NODE_NAME", "POD_IP"):
            with self.subTest(variable), tempfile.TemporaryDirectory() as folder:
                file = write_node(pathlib.Path(folder), without_tls(self.node_texts()["no-rdma"]), base_manifests())
                environment = {key: value for key, value in ENVIRONMENT.items() if key != variable}
                status, told = check(PROGRAMS / "hatrpcd", file, environment)
                self.assertEqual(status, 78)
                self.assertIn(f"'${variable}': this environment variable is not set", told)

    def test_overlays_differ_in_their_fabric_alone(self):
        def without_fabric(text):
            return re.sub(r"(# A device.*\n)?fabric: .*\n", "", text)

        texts = self.node_texts()
        self.assertEqual({without_fabric(text) for text in texts.values()},
                         {without_fabric(texts["no-rdma"])})

    def test_the_manifest_is_what_hintgen_makes_of_the_examples_idl(self):
        made = subprocess.run([PROGRAMS / "hintgen", "calculator.thrift"], cwd=K8S / "example",
                              capture_output=True, text=True, check=True).stdout
        self.assertEqual(base_manifests(), {"calculator.yaml": made})

    def test_the_rules_are_made_from_the_one_file(self):
        done = subprocess.run([K8S / "rules.py", "--check"], capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_the_image_has_what_the_programs_want(self):
        build, final = packages((K8S / "Dockerfile").read_text(encoding="utf-8"))
        wanted = set()
        for program in ("hatrpcd", "hatctl", "hintgen"):
            wanted |= set(libraries(PROGRAMS / program).values())
        self.assertEqual(set(packages_of(wanted).values()) - IN_EVERY_IMAGE,
                         final - {"ibverbs-providers"})
        self.assertIn("ibverbs-providers", final)  # libibverbs loads these at run time
        declared = re.search(r'(?s)\[build\]="(.*?)"', (ROOT / "dev").read_text(encoding="utf-8"))[1]
        for package in declared.split():
            if package.endswith("-dev") or package in ("g++", "cmake", "flex", "bison",
                                                       "ninja-build", "thrift-compiler"):
                with self.subTest("build", package=package):
                    self.assertIn(package, build)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
