#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hintgen/stock_compiler_test.py: compares hintgen's reading of IDL with the Thrift compiler's.

  stock_compiler_test.py HINTGEN THRIFT

testdata/good     the Thrift compiler reads the stripped and the annotated file as hintgen reads the original
testdata/newer    files whose syntax only Thrift compilers after 0.17 accept: hintgen's dump must equal FILE.json,
                  which a person has checked
testdata/bad      hintgen rejects these files. The first line of a file says whether the Thrift compiler also
                  rejects the file; the second line is hintgen's first message
testdata/lenient  hintgen and the Thrift compiler accept these files; hintgen gives the warning in the second line
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

TESTDATA = pathlib.Path(__file__).resolve().parent / "testdata"
SECONDS_MAX = 20
XML = "{http://thrift.apache.org/xml/idl}"
HINTGEN = THRIFT = None  # set from the command line


def run(*arguments, cwd=TESTDATA):
    return subprocess.run([str(it) for it in arguments], cwd=cwd, capture_output=True,
                          timeout=SECONDS_MAX)


def hintgen(*arguments, cwd=TESTDATA):
    done = run(HINTGEN, *arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def files(folder):
    found = sorted(it.relative_to(TESTDATA) for it in (TESTDATA / folder).rglob("*")
                   if it.is_file() and it.suffix != ".json")
    assert found, f"no test files in {folder}"
    return found


# ---- hintgen's dump, converted to the form of the Thrift compiler's JSON ----

class Values:
    """Converts values to the form of the Thrift compiler, which replaces names by the numbers that they mean."""

    def __init__(self, dump, dumps):
        self.program = dump["name"]
        self.named = {}
        for it in dumps:
            for constant in it["constants"]:
                self.named[it["name"], constant["name"]] = it, constant["value"]
            for enum in it["enums"]:
                for member in enum["members"]:
                    name = f"{enum['name']}.{member['name']}"
                    self.named[it["name"], name] = it, member["value"]

    def stock(self, value, program=None):
        program = program or self.program
        if isinstance(value, list):
            return [self.stock(it, program) for it in value]
        if not isinstance(value, dict):
            return value
        if "map" in value:
            return {str(self.stock(key, program)): self.stock(it, program)
                    for key, it in value["map"]}
        own = program, value["name"]
        owner, meant = self.named[own if own in self.named
                                  else tuple(value["name"].split(".", 1))]
        return self.stock(meant, owner["name"])


def stock_field(field, owner, values):
    required = {"default": "req_out", "required": "required",
                "optional": "req_out" if owner == "function" else "optional"}[field["required"]]
    return {"key": field["id"], "name": field["name"],
            "required": "optional" if owner == "union" else required,
            "default": values.stock(field["default"]),
            "annotations": dict(field["annotations"])}


def stock_function(function, values):
    return {"name": function["name"], "oneway": function["oneway"],
            "annotations": dict(function["annotations"]),
            "arguments": [stock_field(it, "function", values) for it in function["arguments"]],
            "exceptions": [stock_field(it, "function", values) for it in function["exceptions"]]}


def from_dump(dump, values):
    return {
        "name": dump["name"],
        "includes": [pathlib.PurePath(it).stem for it in dump["includes"]],
        "namespaces": dict(dump["namespaces"]),
        "enums": [{"name": it["name"], "annotations": dict(it["annotations"]),
                   "members": [(member["name"], member["value"]) for member in it["members"]]}
                  for it in dump["enums"]],
        "typedefs": [(it["name"], dict(it["annotations"])) for it in dump["typedefs"]],
        "structs": [{"name": it["name"], "kind": it["kind"],
                     "annotations": dict(it["annotations"]),
                     "fields": [stock_field(field, it["kind"], values) for field in it["fields"]]}
                    for it in dump["structs"]],
        "constants": {it["name"]: values.stock(it["value"]) for it in dump["constants"]},
        "services": [{"name": it["name"], "extends": it["extends"],
                      "annotations": dict(it["annotations"]),
                      "functions": [stock_function(function, values)
                                    for function in it["functions"]]}
                     for it in dump["services"]],
    }


# ---- the Thrift compiler's JSON, without the parts that hintgen does not keep ----

def json_field(field):
    return {"key": field["key"], "name": field["name"], "required": field["required"],
            "default": field.get("default"), "annotations": field.get("annotations", {})}


def json_function(function):
    return {"name": function["name"], "oneway": function["oneway"],
            "annotations": function.get("annotations", {}),
            "arguments": [json_field(it) for it in function["arguments"]],
            "exceptions": [json_field(it) for it in function["exceptions"]]}


def json_kind(struct):
    return "exception" if struct["isException"] else "union" if struct["isUnion"] else "struct"


def from_json(document):
    return {
        "name": document["name"],
        "includes": document["includes"],
        "namespaces": document["namespaces"],
        "enums": [{"name": it["name"], "annotations": it.get("annotations", {}),
                   "members": [(member["name"], member["value"]) for member in it["members"]]}
                  for it in document["enums"]],
        "typedefs": [(it["name"], it.get("annotations", {})) for it in document["typedefs"]],
        "structs": [{"name": it["name"], "kind": json_kind(it),
                     "annotations": it.get("annotations", {}),
                     "fields": [json_field(field) for field in it["fields"]]}
                    for it in document["structs"]],
        "constants": {it["name"]: it["value"] for it in document["constants"]},
        "services": [{"name": it["name"], "extends": it.get("extends"),
                      "annotations": it.get("annotations", {}),
                      "functions": [json_function(function) for function in it["functions"]]}
                     for it in document["services"]],
    }


# ---- types, which the Thrift compiler writes in full only in XML ----

def xml_type(element, program):
    kind = element.get("type")
    if kind == "id":
        module = element.get("type-module")
        return element.get("type-id") if module == program else f"{module}.{element.get('type-id')}"
    inner = [xml_type(element.find(XML + name), program)
             for name in {"map": ("keyType", "valueType"), "list": ("elemType",),
                          "set": ("elemType",)}.get(kind, ())]
    return f"{kind}<{', '.join(inner)}>" if inner else kind


def xml_types(path):
    document = ElementTree.parse(path).getroot().find(XML + "document")
    program = document.get("name")
    types = {}
    for kind in ("struct", "union", "exception"):
        for struct in document.iter(XML + kind):
            for field in struct.findall(XML + "field"):
                types[struct.get("name"), field.get("name")] = xml_type(field, program)
    for typedef in document.findall(XML + "typedef"):
        types[typedef.get("name")] = xml_type(typedef, program)
    for service in document.findall(XML + "service"):
        for method in service.findall(XML + "method"):
            key = service.get("name"), method.get("name")
            types[key] = xml_type(method.find(XML + "returns"), program)
            for what in ("arg", "throws"):
                for field in method.findall(XML + what):
                    types[(*key, what, field.get("name"))] = xml_type(field, program)
    return types


def dump_types(dump):
    def spelled(text):
        return re.sub(r"\bbyte\b", "i8", text)  # the stock compiler treats both names alike

    types = {}
    for struct in dump["structs"]:
        for field in struct["fields"]:
            types[struct["name"], field["name"]] = spelled(field["type"])
    aliases = {it["name"]: it["type"] for it in dump["typedefs"]}
    for name, target in aliases.items():
        while target in aliases:  # the stock compiler resolves typedefs of typedefs
            target = aliases[target]
        types[name] = spelled(target)
    for service in dump["services"]:
        for function in service["functions"]:
            key = service["name"], function["name"]
            types[key] = spelled(function["result"])
            for what, fields in (("arg", "arguments"), ("throws", "exceptions")):
                for field in function[fields]:
                    types[(*key, what, field["name"])] = spelled(field["type"])
    return types


def without_columns(manifest):
    return re.sub(rb"(origin: .*:\d+):\d+", rb"\1", manifest)


class StockCompilerTest(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="hintgen-stock-")
        self.addCleanup(self.folder.cleanup)
        self.at = pathlib.Path(self.folder.name)

    def rewrite(self, option):
        """Writes all good files with hintgen --strip or --annotate, in the same folders below `self.at`."""
        for file in files("good"):
            written = self.at / file
            written.parent.mkdir(parents=True, exist_ok=True)
            hintgen(option, file, "-o", written)

    def stock(self, file, generator):
        out = self.at / "out"
        out.mkdir(exist_ok=True)
        done = run(THRIFT, "-nowarn", "-out", out, "-gen", generator, self.at / file)
        self.assertEqual(done.returncode, 0, done.stderr.decode() + done.stdout.decode())
        return out / f"{file.stem}.{generator}"

    def dumps(self, cwd=TESTDATA):
        return {file: json.loads(hintgen("--dump", file, cwd=cwd)) for file in files("good")}

    def test_good_files_read_alike(self):
        self.rewrite("--strip")
        dumps = self.dumps()
        for file in files("good"):
            with self.subTest(file=str(file)):
                dump = dumps[file]
                document = json.loads(self.stock(file, "json").read_text())
                self.assertEqual(from_dump(dump, Values(dump, dumps.values())),
                                 from_json(document))
                self.assertEqual(dump_types(dump), xml_types(self.stock(file, "xml")))
                stripped = json.loads(hintgen("--dump", self.at / file))
                self.assertEqual(dump, stripped)

    def test_annotated_files_mean_the_same(self):
        self.rewrite("--annotate")
        dumps = self.dumps(cwd=self.at)
        for file in files("good"):
            with self.subTest(file=str(file)):
                self.assertEqual(without_columns(hintgen(file)),
                                 without_columns(hintgen(file, cwd=self.at)))
                document = json.loads(self.stock(file, "json").read_text())
                self.assertEqual(from_dump(dumps[file], Values(dumps[file], dumps.values())),
                                 from_json(document))

    def test_documentation_stays_with_its_function(self):
        self.rewrite("--strip")
        document = json.loads(self.stock(pathlib.Path("good/docs.thrift"), "json").read_text())
        service, = document["services"]
        self.assertEqual(service["doc"], "The service.\n")
        self.assertEqual([it["doc"] for it in service["functions"]],
                         ["The function, with hints behind.\n", "The next one.\n"])

    def test_lines_stay_where_they_were(self):
        for option in ("--strip", "--annotate"):
            for file in files("good"):
                with self.subTest(option=option, file=str(file)):
                    before = (TESTDATA / file).read_bytes()
                    self.assertEqual(before.count(b"\n"), hintgen(option, file).count(b"\n"))

    def test_newer_forms(self):
        for file in files("newer"):
            with self.subTest(file=str(file)):
                expected = json.loads((TESTDATA / file).with_suffix(".json").read_text())
                self.assertEqual(json.loads(hintgen("--dump", file)), expected)
                (self.at / "out").mkdir(exist_ok=True)
                done = run(THRIFT, "-nowarn", "-out", self.at / "out", "-gen", "json", file)
                self.assertNotEqual(done.returncode, 0, "Thrift 0.17 accepts this file: move it to good/")

    def test_bad_files_are_refused(self):
        for file in files("bad"):
            with self.subTest(file=str(file)):
                stock_does, message = (TESTDATA / file).read_bytes().decode().splitlines()[:2]
                done = run(HINTGEN, "--check", file.name, cwd=TESTDATA / "bad")
                self.assertEqual(done.returncode, 1)
                errors = [line for line in done.stderr.decode().splitlines() if ": error: " in line]
                expected = message.removeprefix("# hintgen: ")
                in_own_file = expected[0].isdigit()
                self.assertEqual(errors[0], f"{file.name}:{expected}" if in_own_file else expected)
                if stock_does == "# The stock compiler refuses this too.":
                    done = run(THRIFT, "-nowarn", "-out", self.at, "-gen", "json", file)
                    self.assertNotEqual(done.returncode, 0, "the stock compiler accepts this file")

    def test_lenient_files_draw_a_warning(self):
        for file in files("lenient"):
            if file.parent.name == "shared":
                continue  # other files include it
            with self.subTest(file=str(file)):
                message = (TESTDATA / file).read_text().splitlines()[1]
                done = run(HINTGEN, "--check", file.name, cwd=TESTDATA / "lenient")
                self.assertEqual(done.returncode, 0, done.stderr.decode())
                warnings = [line for line in done.stderr.decode().splitlines()
                            if ": warning: " in line]
                expected = message.removeprefix("# hintgen: ")
                in_own_file = expected[0].isdigit()
                self.assertEqual(warnings[0],
                                 f"{file.name}:{expected}" if in_own_file else expected)
                done = run(THRIFT, "-nowarn", "-out", self.at, "-gen", "json", file)
                self.assertEqual(done.returncode, 0, "the stock compiler rejects this file")


if __name__ == "__main__":
    HINTGEN, THRIFT = sys.argv[1:3]
    version = subprocess.run([THRIFT, "-version"], capture_output=True, check=True).stdout.decode()
    if "0.17." not in version:
        sys.exit(f"stock_compiler_test: this test needs Thrift 0.17, and this is {version.strip()}")
    unittest.main(argv=sys.argv[:1])
