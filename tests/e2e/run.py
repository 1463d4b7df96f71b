#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/run.py: runs one language's test clients against test servers, directly and through two hatrpcds.

Every pair of client and server runs the same cases twice: first the client connects to the server, then to a hatrpcd.
Only the address differs. All cases must pass both times.
"""

import argparse
import collections
import copy
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import yaml

from nodes import Server, TwoNodes, ask, hatrpc_address
from peers import FOLLOWED, IDL, PAIRS, Peers


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Examples:\n  tests/e2e/run.py --bin build/release/bin --peers build/release/e2e go\n"
               "  tests/e2e/run.py … --build java       only builds the peers\n"
               "  tests/e2e/run.py … --only zlib cpp    runs the pairs whose name contains 'zlib'")
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of hatrpcd and hintgen")
    parser.add_argument("--peers", type=pathlib.Path, required=True, help="folder of the built clients and servers")
    parser.add_argument("--build", action="store_true", help="only build the language's clients and servers")
    parser.add_argument("--fabric", default="auto", help="fabric of the daemons (default: %(default)s)")
    parser.add_argument("--restricted", action="store_true",
                        help="run only through daemons, which check all requests against the manifest's signatures")
    parser.add_argument("--only", default="", help="run only the pairs whose name contains this text")
    parser.add_argument("language", choices=sorted({*PAIRS, "rust"}), metavar="what",
                        help="%(choices)s: a language; or rings: client and server use shared-memory rings")
    options = parser.parse_args()
    if options.language not in PAIRS and not options.build:
        parser.error(f"{options.language} has a reader (readers.py), and no clients or servers; expected --build")
    return options


def service_of(pair, number):
    """Returns the pair's service name. Each pair has its own service, and so its own endpoint and upstream."""
    return "Probe" if pair.multiplexed else f"Probe{number}"


def manifest_for(programs, count, restricted):
    """Returns hintgen's manifest of the service Probe, with `count` copies of the service: Probe0, Probe1 and so on."""
    text = subprocess.run([programs / "hintgen", IDL], capture_output=True, text=True, check=True)
    manifest = yaml.safe_load(text.stdout)
    probe = manifest["services"]["Probe"]
    manifest["services"] |= {f"Probe{i}": copy.deepcopy(probe) for i in range(count)}
    if restricted:  # no peer may call this service, so all peers are restricted, and the daemon checks every request
        manifest["services"]["Forbidden"] = {"allow": ["host-x"]}
    return yaml.safe_dump(manifest)


def start_servers(peers, pairs, folder):
    """Starts one server process for each language; returns the servers, and the address of each pair's server."""
    servers, addresses = [], {}
    for language in sorted({pair.server for pair in pairs}):
        of_language = [pair for pair in pairs if pair.server == language]
        combinations = [("127.0.0.1:0" if pair.local == "tcp" else
                         f"{pair.local}:{folder}/{pairs.index(pair)}.sock",
                         pair.server_options()) for pair in of_language]
        server = Server(*peers.command(language, "server"), combinations)
        servers.append(server)
        addresses |= dict(zip(of_language, server.addresses))
    return servers, addresses


def run_clients(peers, pairs, addresses, where):
    """Runs one client process for each language; returns a line for each failure."""
    failed = []
    for language in sorted({pair.client for pair in pairs}):
        of_language = [pair for pair in pairs if pair.client == language]
        command, environment = peers.command(language, "client")
        words = list(command)
        for pair in of_language:
            words += ["--connect", addresses[pair], *pair.client_options()]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=280,
                              env={**os.environ, **environment})
        runs = done.stdout.split("run ")[1:]
        if len(runs) != len(of_language) or done.returncode not in (0, 1):
            failed.append(f"{where}: {language} client: {len(runs)} of {len(of_language)} runs, "
                          f"status {done.returncode}: {done.stderr[-1000:]}")
        for pair, text in zip(of_language, runs):
            lines = text.splitlines()[1:]
            passed = sum(line.startswith("ok ") for line in lines)
            bad = [line for line in lines if line.startswith("FAIL ")]
            failed += [f"{where}: {pair.name()}: {line}" for line in bad]
            if passed < 10:
                failed.append(f"{where}: {pair.name()}: only {passed} cases passed")
            print(f"{where}: {pair.name()}: {passed} cases passed, {len(bad)} failed", flush=True)
    return failed


def check_counters(nodes):
    """Returns a text for each function with unanswered calls or local replies, and each daemon with buffered bytes.

    Waits up to 30 s until there is none, because the last client has disconnected only just before.
    """
    end = time.monotonic() + 30
    while (failed := what_is_left(nodes)) and time.monotonic() < end:
        time.sleep(0.05)
    return failed


def what_is_left(nodes):
    failed = []
    for node in (nodes.a, nodes.b):
        for function in node.get("/functions"):
            name = f"{node.name}: {function['service']}.{function['method']} ({function['side']})"
            if function["in_flight"] != 0:
                failed.append(f"{name}: {function['in_flight']} calls never ended")
            if function["outcomes"]["local_error"] != 0:
                failed.append(f"{name}: hatrpcd itself answered {function['outcomes']['local_error']} calls")
        held = node.get("/status")["buffered_bytes"]
        if held != 0:
            failed.append(f"{node.name}: the daemon still holds {held} bytes")
    return failed


def check_followed(nodes, names):
    """Checks that hatrpcd counted the calls by function for every transport whose messages it can read."""
    counted = collections.Counter()
    for function in nodes.a.get("/functions"):
        counted[function["service"]] += function["outcomes"]["success"]
    return [f"daemons: {pair.name()}: hatrpcd carried the calls byte for byte" for pair, name in names.items()
            if pair.transport in FOLLOWED and counted[name] == 0]


def checked_requests(node):
    text = ask(node.admin, "GET", "/metrics")[1]
    return float(re.search(r"(?m)^hatrpc_authz_checked_total (\S+)$", text)[1])


def run_language(options, peers, pairs):
    with tempfile.TemporaryDirectory(prefix="hatrpc-e2e-") as folder:
        servers, addresses = start_servers(peers, pairs, folder)
        try:
            failed = [] if options.restricted else run_clients(peers, pairs, addresses, "direct")
            names = {pair: service_of(pair, i) for i, pair in enumerate(pairs)}
            # All multiplexed pairs have the same service name, so each of them needs nodes of its own.
            rounds = [[pair for pair in pairs if not pair.multiplexed]]
            rounds += [[pair] for pair in pairs if pair.multiplexed]
            for some in filter(None, rounds):
                upstreams = {names[pair]: hatrpc_address(addresses[pair]) for pair in some}
                local = {names[pair]: f"{pair.local}:{folder}/{names[pair]}.sock"
                         for pair in some if pair.local != "tcp"}
                manifest = manifest_for(options.bin, len(pairs), options.restricted)
                with TwoNodes(options.bin, manifest, upstreams, local, fabric=options.fabric,
                              limits={"checked_request": "64MiB"}) as nodes:
                    entries = {pair: nodes.endpoints[names[pair]].removeprefix("tcp:")
                               for pair in some}
                    failed += run_clients(peers, some, entries, "daemons")
                    failed += check_counters(nodes)
                    failed += check_followed(nodes, {pair: names[pair] for pair in some})
                    if options.restricted and not checked_requests(nodes.b):
                        failed.append("daemons: no request was checked against its signature")
        finally:
            for server in servers:
                server.stop()
    return failed


def main():
    options = arguments()
    options.bin = options.bin.resolve()
    peers = Peers(options.peers)
    if options.build:
        peers.build(options.language)
        return 0
    pairs = [pair for pair in PAIRS[options.language] if options.only in pair.name()]
    # With restricted peers, only pairs with the C++ server run, because the daemon's check of requests does not depend
    # on the server. Pairs over opaque transports do not run, because the daemon refuses their requests.
    if options.restricted:
        pairs = [pair for pair in pairs if pair.client == options.language and pair.server == "cpp"
                 and pair.transport in FOLLOWED and not pair.server_kind]
    if not pairs:
        raise SystemExit(f"e2e: no pair of {options.language} has a name that contains '{options.only}'")
    failed = run_language(options, peers, pairs)
    print("\n".join(failed))
    print(f"{len(pairs)} pairs, {len(failed)} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
