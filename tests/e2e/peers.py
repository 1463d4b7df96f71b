# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/peers.py: builds the test clients and servers of each language, and lists the pairs of them to test."""

import dataclasses
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
IDL = HERE / "probe.thrift"
CHECKED_IDL = HERE.parent.parent / "daemon" / "thrift" / "checked.thrift"
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's thrift module
PROTOCOLS = ("binary", "compact", "json")
LARGE_BYTES = 16 << 20  # the largest value that hatrpc must carry; used with framed binary
SMALLER_BYTES = 1 << 20
# The transports whose messages hatrpcd can read. Over other transports (HTTP, zlib, SASL), it carries opaque bytes.
FOLLOWED = ("buffered", "framed", "fastframed", "header", "framed_header")


@dataclasses.dataclass(frozen=True)
class Pair:
    """A client and a server to test together, with the same transport and protocol."""

    client: str
    server: str
    transport: str
    protocol: str
    server_kind: str = ""
    server_transport: str = ""  # the server's name for the transport, if it differs from the client's
    multiplexed: bool = False
    local: str = "tcp"  # how client and server connect to their hatrpcd: tcp, unix or shm (a ring)

    def name(self):
        words = [self.client, "to", self.server, self.transport, self.protocol, self.server_kind,
                 "multiplexed" * self.multiplexed, self.local.replace("tcp", "")]
        return " ".join(word for word in words if word)

    def options(self):
        words = ["--protocol", self.protocol]
        return words + (["--multiplexed", "Probe"] if self.multiplexed else [])

    def client_options(self):
        # Java's nonblocking servers accept frames of at most 16,384,000 bytes.
        whole = (self.transport == "framed" and self.protocol == "binary" and
                 (self.server == "cpp" or not self.server_kind))
        words = ["--transport", self.transport, *self.options(),
                 "--large", str(LARGE_BYTES if whole else SMALLER_BYTES)]
        for case in quirks(self):
            words += ["--skip", case]
        return words

    def server_options(self):
        words = ["--transport", self.server_transport or self.transport, *self.options()]
        return words + (["--server", self.server_kind] if self.server_kind else [])


def quirks(pair):
    """Returns the cases that fail even without hatrpcd, because of errors in the Thrift libraries of the pair."""
    found = set()
    if pair.server == "node":
        found.add("unknown_method")  # Node's server answers with exception type 0 (UNKNOWN)
    if "node" in (pair.client, pair.server) and pair.protocol == "compact":
        found.add("everything")  # Node's library writes all booleans in lists as false
    if pair.client in ("go", "python") and (pair.server, pair.transport) == ("cpp", "http"):
        found.add("oneway")  # the client waits for an HTTP response, and the C++ server sends none
    return sorted(found)


def grid(client, server, transports, protocols=PROTOCOLS, **more):
    return [Pair(client, server, transport, protocol, **more)
            for transport in transports for protocol in protocols]


def with_cpp(language, transports):
    """Pairs the language's clients with C++ servers, and C++ clients with the language's servers."""
    both = grid(language, "cpp", transports) + grid("cpp", language, transports)
    mux = [Pair(client, server, "framed", "compact", multiplexed=True)
           for client, server in ((language, "cpp"), ("cpp", language))]
    return both + mux


BINARY_COMPACT = ("binary", "compact")
PAIRS = {
    "cpp": grid("cpp", "cpp", ("buffered", "framed", "zlib", "http"))
           + grid("cpp", "cpp", ("header", "framed_header"), BINARY_COMPACT)
           + grid("cpp", "cpp", ("framed",), server_kind="nonblocking")
           + [Pair("cpp", "cpp", "framed", "binary", server_kind="threadpool"),
              Pair("cpp", "cpp", "framed", "binary", server_kind="nonblocking_pool"),
              Pair("cpp", "cpp", "framed", "binary", multiplexed=True),
              Pair("cpp", "cpp", "buffered", "json", multiplexed=True),
              Pair("cpp", "cpp", "framed", "binary", local="unix"),
              Pair("cpp", "cpp", "buffered", "compact", local="unix")],
    "rings": grid("cpp", "cpp", ("buffered", "framed", "zlib"), local="shm")
             + grid("cpp", "cpp", ("header",), BINARY_COMPACT, local="shm")
             + [Pair("cpp", "cpp", "framed", "binary", server_kind=kind, local="shm")
                for kind in ("threadpool",)]
             + [Pair("cpp", "cpp", "framed", "compact", multiplexed=True, local="shm"),
                Pair("python", "python", "framed", "binary", server_kind="threadpool", local="shm")]
             + grid("python", "cpp", ("buffered", "framed", "zlib"), BINARY_COMPACT, local="shm")
             + grid("cpp", "python", ("buffered", "framed"), BINARY_COMPACT, local="shm"),
    "python": with_cpp("python", ("buffered", "framed", "zlib"))
              + grid("python", "cpp", ("http",)) + grid("python", "python", ("http",))
              + grid("python", "cpp", ("header", "framed_header"), BINARY_COMPACT)
              + grid("python", "python", ("buffered", "framed"), ("binary_c", "compact_c"))
              + [Pair("python", "cpp", "framed", "binary", local="unix")],
    "go": with_cpp("go", ("buffered", "framed", "zlib"))
          + grid("go", "cpp", ("http",)) + grid("go", "go", ("http",))
          + grid("go", "cpp", ("header", "framed_header"), BINARY_COMPACT)
          + grid("go", "go", ("header", "header_zlib", "framed_header"), BINARY_COMPACT)
          + [Pair("go", "cpp", "framed", "binary", local="unix")],
    "java": with_cpp("java", ("buffered", "framed"))
            + grid("java", "cpp", ("fastframed",), server_transport="framed")
            + grid("java", "java", ("zlib", "http"))
            + grid("java", "java", ("sasl", "sasl_conf"), BINARY_COMPACT)
            + [Pair("java", "java", "framed", "binary", server_kind=kind)
               for kind in ("nonblocking", "hsha", "selector")],
    "node": with_cpp("node", ("buffered", "framed"))
            + [Pair("node", "node", "framed", "binary"),
               Pair("node", "cpp", "framed", "binary", local="unix")],
}


class Peers:
    """The built test clients and servers of all languages, in one folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()

    def command(self, language, role):
        at = self.folder / language
        if language == "cpp":
            return [str(at / f"probe_{role}")], {}
        if language == "python":
            return ([PYTHON, str(HERE / "python" / f"{role}.py")],
                    {"PYTHONPATH": f"{at}/gen:{at}/site"})
        if language == "go":
            return [str(at / f"probe_{role}")], {}
        if language == "java":
            # The tests start many short-lived Java processes, so a quick start matters more than peak speed.
            return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
                    "-Dsun.net.httpserver.nodelay=true", "-cp",
                    f"{at}/classes:{at}/lib/*", f"Probe{role.capitalize()}"], {}
        if language == "rust":
            return [str(at / "target" / "release" / role)], {}
        return ["node", str(at / f"{role}.js")], {}

    def have(self, language):
        """Builds the language's clients and servers unless they are built already."""
        made = {"python": "gen", "java": "classes", "node": "gen", "rust": "target"}.get(language, "probe_server")
        if not (self.folder / language / made).exists():
            self.build(language)

    def build(self, language):
        at = self.folder / language
        at.mkdir(parents=True, exist_ok=True)
        {"cpp": self._nothing, "python": self._python, "go": self._go, "java": self._java,
         "node": self._node, "rust": self._rust}[language](at)

    @staticmethod
    def _nothing(at):
        """Ends the program if a C++ client or server is missing. CMake builds these, so nothing is built here."""
        for role in ("client", "server"):
            if not (at / f"probe_{role}").exists():
                raise SystemExit(f"e2e: {at}/probe_{role} is not built; ./dev build does it")

    @staticmethod
    def _python(at):
        run(["thrift", "--gen", "py", "-out", fresh(at / "gen"), IDL])
        run(["thrift", "--gen", "py", "-out", at / "gen", CHECKED_IDL])
        # Install the package with pip, as users do, but with Debian's build tools, so that pip needs no network.
        run([PYTHON, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps",
             "--root-user-action=ignore", "--target", fresh(at / "site"),
             HERE.parent.parent / "client" / "python"])

    @staticmethod
    def _go(at):
        source = at / "src"
        shutil.copytree(HERE / "go", fresh(source), dirs_exist_ok=True)
        for package, idl in (("probe", IDL), ("checked", CHECKED_IDL)):
            run(["thrift", "--gen", "go:package_prefix=hatrpc.test/", "-out", source, idl])
            # The generated code is a Go module of its own, as in many applications.
            (source / package / "go.mod").write_text(
                f"module hatrpc.test/{package}\n\ngo 1.18\n\n"
                "require github.com/apache/thrift v0.17.0\n")
            for skeleton in (source / package).glob("*-remote"):
                shutil.rmtree(skeleton)
            run(["go", "mod", "edit", f"-require=hatrpc.test/{package}@v0.0.0",
                 f"-replace=hatrpc.test/{package}=./{package}"], source)
        for role in ("client", "server", "reader"):
            run(["go", "build", "-mod=mod", "-o", at / f"probe_{role}", f"./{role}"], source)

    @staticmethod
    def _java(at):
        run(["thrift", "--gen", "java:generated_annotations=suppress", "-out", fresh(at / "gen"),
             IDL])
        run(["thrift", "--gen", "java:generated_annotations=suppress", "-out", at / "gen", CHECKED_IDL])
        run(["mvn", "--batch-mode", "--quiet", "-f", HERE / "java" / "pom.xml",
             "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies",
             f"-DoutputDirectory={at}/lib"])
        sources = [*(at / "gen").rglob("*.java"), *(HERE / "java" / "src").glob("*.java")]
        run(["javac", "-nowarn", "-proc:none", "-Xlint:none", "-cp", f"{at}/lib/*", "-d",
             fresh(at / "classes"), *sources])

    @staticmethod
    def _node(at):
        for file in (HERE / "node").iterdir():
            shutil.copy(file, at)
        run(["npm", "install", "--no-audit", "--no-fund", "--silent"], at)
        run(["thrift", "--gen", "js:node,es6", "-out", fresh(at / "gen"), IDL])
        run(["thrift", "--gen", "js:node,es6", "-out", at / "gen", CHECKED_IDL])

    @staticmethod
    def _rust(at):
        source = at / "src"
        shutil.copytree(HERE / "rust", fresh(source), dirs_exist_ok=True)
        for idl in (IDL, CHECKED_IDL):
            run(["thrift", "--gen", "rs", "-out", source / "src", idl])
        run(["cargo", "build", "--quiet", "--release", "--locked", "--target-dir", at / "target"], source)


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def run(words, where=None):
    words = [str(word) for word in words]
    if shutil.which(words[0]) is None:
        raise SystemExit(f"e2e: {words[0]} is not installed; ./dev test installs it")
    done = subprocess.run(words, cwd=where, capture_output=True, text=True, check=False,
                          env={**os.environ, "GOFLAGS": "", "GOTOOLCHAIN": "local"})
    if done.returncode != 0:
        raise SystemExit(f"e2e: {' '.join(words)[:300]}\n{done.stdout}{done.stderr}")
