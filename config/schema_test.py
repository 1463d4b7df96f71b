#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# config/schema_test.py: checks that the JSON Schemas and hatrpcd accept and reject the same files.
"""usage: schema_test.py HATRPCD HATCTL"""
import atexit
import functools
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema
import yaml

HATRPCD, HATCTL = sys.argv[1:3]
CONFIG = pathlib.Path(__file__).resolve().parent

GOOD_NODES = [
    "node: a",
    "node: a\nfabric: tcp\nworkers: auto\nworker_nice: -5\nmanifests: []",
    "node: a\nworker_cores: auto", "node: a\nworker_cores: nic", "node: a\nworker_cores: 0",
    "node: a\nworker_cores: '0, 0-0'", "node: a\nworker_cores: [0, '0-0,0']",
    "node: a\nfabric: loop\nprofile: measured.yaml\nlearned: learned.yaml", "node: a\nfabric: {kind: verbs, device: mlx5_0, port: 1, gid_index: 3}",
    "node: a\nfabric: {max_pinned: 64MiB}", "node: a\nfabric: {kind: loop, loop_folder: /run/hatrpc-loop}",
    "node: a\nfabric: {faults: {seed: 3, delay: 1ms, refused_percent: 5, cut_within: 9, silent_within: 9}}",
    "node: a\nworkers: 3\nlink: {listen: 'tcp:0.0.0.0:7471', insecure: true}",
    "node: a\nlink: {insecure: true}\npeers: {b: {link: 'tcp:h:1'}}\n"
    "endpoints: [{listen: 'unix:/tmp/s', service: S, peers: [b], mode: '0660', group: users}]",
    "node: a\nlink: {insecure: true}\npeers: {b: {link: 'tcp:h:1'}}\n"
    "endpoints: [{listen: 'shm:/tmp/r', service: S, peers: [b]}]\nserves: {S: {upstream: 'shm:/tmp/t'}}",
    "node: a\nlink: {insecure: true}\npeers: {b: {link: 'tcp:h:1'}}\n"
    "endpoints: [{listen: 'tcp:h:2', ring: /tmp/r, service: S, peers: [b]}]\nserves: {S: {upstream: 'tcp:h:3', ring: /tmp/t}}",
    "node: a\nlink: {insecure: true}\npeers: {b: {link: 'tcp:h:1', serves: [S]}}\nendpoints: [{listen: 'tcp:h:2', service: S}]",
    "node: a\npeer_files: []",
    "node: a\nzone: east\nlink: {insecure: true}\npeers: {b: {link: 'tcp:h:1', weight: 1000, zone: east}}",
    "node: a\nlink: {insecure: true}\npeers: {b: {link: 'dns:h:1'}, c: {link: 'srv:_x._tcp.h'}, d: {link: 'unix:/tmp/s'}}",
    "node: a\nmanifests: [m.yaml]\nserves: {S: {upstream: 'tcp:127.0.0.1:1', mode: shared, max_connections: 4}}",
    "node: a\nserves: {S: {upstream: 'tcp:127.0.0.1:1', thrift_transport: header}}",
    "node: a\nserves: {S: {upstream: 'dns:h:1'}, T: {upstream: 'srv:_x._tcp.h'}}",
    "node: a\nserves: {S: {upstream: 'tcp:127.0.0.1:1', thrift_transport: framed, thrift_protocol: compact}}",
    "node: a\nlink: {listen: 'tcp:h:1', tls: TLS}\npeers: {b: {link: 'tcp:h:1', identity: 'spiffe://p/b', profile: b.yaml}}",
    "node: a\nlink: {tls: {certificate: tls/a.pem, key: tls/a.key, ca: tls/ca.pem, "
    "allow: ['spiffe://p/*', 'spiffe://p/a', host-b, '*.example']}}",
    "node: a\nlimits: {spin: 10us, max_message: 1MiB, max_pipelined: 7, retry_percent: 0, retry_request: 0B, max_links: 4, max_peer_connections: 4, drain_timeout: 1min}",
    "node: a\nadmin: {listen: 'tcp:127.0.0.1:9464', socket: /tmp/x.sock}",
    "node: a\nadmin: {duration_buckets: [1us, 64us, 8388608us], max_functions: 1}",
    "node: a\naccess_log: {path: a.jsonl}", "node: a\naccess_log: {path: /a, sample_one_in: 0, slower_than: 250us, failed: false}",
    "node: a\ntracing: {path: spans.jsonl}",
]
BAD_NODES = [
    "workers: 1", "node: a\nworker: 1", "node: a\nworkers: 0", "node: a\nworkers: 65",
    "node: a\nworkers: many", "node: a\nworker_cores: all", "node: a\nworker_cores: -1", "node: a\nworker_cores: []",
    "node: a\nworker_cores: '0-'", "node: a\nworker_cores: [nic]", "node: a\nworker_cores: {cores: 0}", "node: a\nworker_nice: -21", "node: a\nfabric: ib",
    "node: a\nfabric: {kind: ib}", "node: a\nfabric: {port: 0}", "node: a\nfabric: {max_pinned: lots}", "node: a\nfabric: [auto]", "node: a\nfabric: {faults: 3}",
    "node: a\nfabric: {faults: {refused_percent: 101}}", "node: a\nfabric: {faults: {cut_within: 0}}",
    "node: a\nlink: {listen: 'tcp:h', insecure: true}", "node: a\nlink: {insecure: perhaps}",
    "node: a\nlink: {insecure: true}\npeers: {b: {link: 'dns:h'}}", "node: a\nlink: {insecure: true}\npeers: {b: {link: 'srv:h:1'}}",
    "node: a\nlink: {insecure: true}\npeers: {b: {link: 'shm:/tmp/s'}}",
    "node: a\nlink: {insecure: true}\npeers: {b: {link: 'tcp:h:1', weight: 0}}",
    "node: a\nlink: {insecure: true}\npeers: {b: {link: 'tcp:h:1', weight: 1001}}", "node: a\nzone: 'a b'",
    "node: a\nlink: {insecure: true}\npeers: {b: {}}", "node: a\nlink: {insecure: true}\npeers: {b: {link: 'tcp:h:1', profile: ''}}", "node: a\nlink: {tls: {certificate: tls/a.pem}}",
    "node: a\nlink: {tls: true}", "node: a\nlink: {tls: {certificate: tls/a.pem, key: tls/a.key, ca: tls/ca.pem, allow: []}}",
    "node: a\nlink: {tls: {certificate: tls/a.pem, key: tls/a.key, ca: tls/ca.pem, allow: ['*']}}",
    "node: a\nlink: {tls: {certificate: tls/a.pem, key: tls/a.key, ca: tls/ca.pem, allow: ['spiffe://a/*/b']}}",
    "node: a\nlink: {tls: TLS}\npeers: {b: {link: 'tcp:h:1', identity: 'a b'}}",
    "node: a\nendpoints: [{listen: 'tcp:h:1', service: S, peers: []}]",
    "node: a\nendpoints: [{listen: 'tcp:h:1', peers: [b]}]",
    "node: a\nlink: {listen: 'shm:/tmp/r', insecure: true}",
    "node: a\nserves: {S: {}}", "node: a\nserves: {S: {upstream: 'tcp:h:1', ring: r}}", "node: a\nserves: {S: {upstream: 'tcp:h:1', ring: '/r,s'}}",
    "node: a\nserves: {S: {upstream: 'tcp:h:1', thrift_transport: rdma}}",
    "node: a\nserves: {S: {upstream: 'tcp:h:1', thrift_protocol: framed}}",
    "node: a\nserves: {S: {upstream: 'tcp:h:1', mode: pool}}", "node: a\nserves: {S: {upstream: 'srv:h:1'}}",
    "node: a\nserves: {S: {upstream: 'dns:h'}}",
    "node: a\nlimits: {spin: 50}", "node: a\nlimits: {max_message: 5 parsecs}",
    "node: a\nlimits: {max_pipelined: 0}", "node: a\nlimits: {retry_percent: 101}", "node: a\nlimits: {max_links: 3}", "node: a\nlimits: {spins: 50us}", "node: [a]",
    "node: a\nlimits: 3", "node: a\nprofile: [p.yaml]", "node: a\nlearned: ''", "node: two words", "node: ''", "node: a\nserves: {9S: {upstream: 'tcp:h:1'}}",
    "node: a\nlink: {insecure: true}\npeers: {'b/c': {link: 'tcp:h:1'}}", "node: a\nadmin: {port: 3}",
    "node: a\nadmin: {duration_buckets: []}", "node: a\nadmin: {duration_buckets: [64]}", "node: a\nadmin: {duration_buckets: 64us}",
    "node: a\naccess_log: {sample_one_in: 1}", "node: a\naccess_log: {path: ''}", "node: a\naccess_log: a.jsonl", "node: a\naccess_log: {path: a, sample_one_in: -1}",
    "node: a\naccess_log: {path: a, sample_one_in: 1000001}", "node: a\naccess_log: {path: a, slower_than: 100}", "node: a\naccess_log: {path: a, failed: maybe}", "node: a\naccess_log: {path: a, sample: 1}",
    "node: a\nadmin: {duration_buckets: [64us, 64us]}", "node: a\nadmin: {duration_buckets: [1ms]}", "node: a\nadmin: {max_functions: 0}", "node: a\nadmin: {max_functions: 1000001}",
    "node: a\ntracing: {}", "node: a\ntracing: {path: ''}", "node: a\ntracing: {path: [x]}", "node: a\ntracing: spans.jsonl",
]
# Errors that only hatrpcd finds, and the schemas do not: values that depend on other keys, and ranges of sizes and times.
LOADER_ALONE = {
    "a peer that is not there": "node: a\nlink: {insecure: true}\npeers: {b: {link: 'tcp:h:1'}}\n"
                                "endpoints: [{listen: 'tcp:h:1', service: S, peers: [c]}]",
    "an address twice": "node: a\nlink: {insecure: true}\npeers: {b: {link: 'tcp:h:1'}}\nendpoints:\n"
                        "- {listen: 'tcp:h:1', service: S, peers: [b]}\n"
                        "- {listen: 'tcp:h:1', service: T, peers: [b]}",
    "a link that is not said to be insecure": "node: a\nlink: {listen: 'tcp:h:1'}",
    "a link that is both": "node: a\nlink: {insecure: true, tls: TLS}",
    "an identity that nothing proves": "node: a\nlink: {insecure: true}\n"
                                       "peers: {b: {link: 'tcp:h:1', identity: b}}",
    "a certificate that is not there": "node: a\nlink: {tls: {certificate: x.pem, key: x.key, ca: x.pem}}",
    "a device for a fabric without one": "node: a\nfabric: {kind: loop, device: mlx5_0}",
    "a folder for a fabric that uses none": "node: a\nfabric: {kind: verbs, loop_folder: /run/hatrpc-loop}",
    "less memory than lanes need": "node: a\nfabric: {max_pinned: 64}",
    "a variable that the environment has not": "node: $HAT_NO_SUCH_VARIABLE",
    "a bucket that does not exist": "node: a\nadmin: {duration_buckets: [1000us]}",
    "buckets in another order": "node: a\nadmin: {duration_buckets: [64us, 16us]}",
    "a slow call of 0 s": "node: a\naccess_log: {path: a, slower_than: 0s}",
    "an access log in the file itself": "node: a\naccess_log: {path: hatrpcd.yaml}",
    "a time out of range": "node: a\nlimits: {spin: 10s}",
}
GOOD_MANIFESTS = [
    "hatrpc_manifest: 1\nservices: {}", "hatrpc_manifest: 1\nservices: {S: {}}",
    "hatrpc_manifest: 1\nsource: s.thrift\nservices: {S: {origin: 's:1:1', hint: {perf_goal: latency, "
    "concurrency: 8}, functions: {f: {oneway: true, c_hint: {payload_size: 4KiB}, s_hint: "
    "{numa: nic}}}}}",
    "hatrpc_manifest: 1\nservices: {S: {hint: {concurrency: over, payload_size: 512, polling: busy, "
    "protocol: rfp, transport: tcp, plan: learned, numa: 1, priority: low, timeout_ms: 9, idempotent: true}}}",
    "hatrpc_manifest: 1\nservices: {S: {hint: {perf_pref: event, proto: herd}}}",
    "hatrpc_manifest: 1\nservices: {S: {allow: [host-a, 'spiffe://p/*'], allow_mode: enforce, functions: "
    "{f: {allow: ['*.example'], allow_mode: dry_run}}}}",
    "hatrpc_manifest: 1\nservices: {S: {functions: {f: {arguments: {}}, g: {arguments: {1: string, -1: "
    "'map<string, list<inc.T>>'}}}, types: {inc.T: {1: uuid, 2: 'set<inc.T>'}}, allow_unknown_fields: true}}",
    "hatrpc_manifest: 1\nservices: {S: {functions: {f: {arguments: {1: required U, 2: binary}}}, types: {U: {union: "
    "{1: E}}, E: {enum: [1, -2]}, Empty: {enum: []}}}}",
]
BAD_MANIFESTS = [
    "hatrpc_manifest: 1\nservices: {'S T': {}}", "hatrpc_manifest: 1\nservices: {S: {functions: {'f()': {}}}}",
    "services: {}", "hatrpc_manifest: 2\nservices: {}", "hatrpc_manifest: 1",
    "hatrpc_manifest: 1\nservices: {S: {hint: {perf_goal: fast}}}",
    "hatrpc_manifest: 1\nservices: {S: {hint: {perf_gaol: latency}}}",
    "hatrpc_manifest: 1\nservices: {S: {hint: {timeout_ms: 0}}}",
    "hatrpc_manifest: 1\nservices: {S: {hint: {concurrency: many}}}",
    "hatrpc_manifest: 1\nservices: {S: {hint: {payload_size: 12XB}}}",
    "hatrpc_manifest: 1\nservices: {S: {functions: {f: {oneway: maybe}}}}",
    "hatrpc_manifest: 1\nservices: {S: {functions: {f: {timeout: 3}}}}",
    "hatrpc_manifest: 1\nservices: {S: {allow: []}}", "hatrpc_manifest: 1\nservices: {S: {allow: ['a b']}}",
    "hatrpc_manifest: 1\nservices: {S: {allow_mode: dry_run}}",
    "hatrpc_manifest: 1\nservices: {S: {functions: {f: {allow: [a], allow_mode: perhaps}}}}",
    "hatrpc_manifest: 1\nservices: {S: {functions: {f: {arguments: [string]}}}}",
    "hatrpc_manifest: 1\nservices: {S: {functions: {f: {arguments: {1: 'list<i32;>'}}}}}",
    "hatrpc_manifest: 1\nservices: {S: {types: {'a b': {}}}}", "hatrpc_manifest: 1\nservices: {S: {types: {T: 3}}}",
    "hatrpc_manifest: 1\nservices: {S: {types: {T: {union: {1: i8}, other: {1: i8}}}}}",
    "hatrpc_manifest: 1\nservices: {S: {types: {T: {union: [i8]}}}}",
    "hatrpc_manifest: 1\nservices: {S: {types: {T: {enum: [x]}}}}",
    "hatrpc_manifest: 1\nservices: {S: {types: {T: {enum: [1, 1]}}}}",
    "hatrpc_manifest: 1\nservices: {S: {allow_unknown_fields: perhaps}}",
    "hatrpc_manifest: 1\nservices: [S]", "hatrpc_manifest: 1\nservices: {}\nextra: 1",
]


# Replaces the word TLS in the configurations above by TLS settings. certificates() makes the files that they name.
TLS = "{certificate: tls/a.pem, key: tls/a.key, ca: tls/ca.pem}"
for texts in (GOOD_NODES, BAD_NODES):
    texts[:] = [text.replace("TLS", TLS) for text in texts]
LOADER_ALONE = {name: text.replace("TLS", TLS) for name, text in LOADER_ALONE.items()}


def schema_takes(name, text):
    schema = json.loads((CONFIG / "schema" / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema).is_valid(yaml.safe_load(text))


@functools.cache
def certificates():
    """Makes the certificates of a CA and of node a, and returns the folder that contains them."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    subprocess.run([HATCTL, "certs", "make", folder, "a"], stdout=subprocess.DEVNULL, check=True)
    return folder


def hatrpcd_takes(node, manifest="hatrpc_manifest: 1\nservices: {S: {functions: {f: {}}}}"):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "hatrpcd.yaml"
        file.write_text(node, encoding="utf-8")
        (file.parent / "m.yaml").write_text(manifest, encoding="utf-8")
        if "tls/" in node:
            (file.parent / "tls").symlink_to(certificates())
        done = subprocess.run([HATRPCD, "--check", "--quiet", "--config", file], check=False)
    return {0: True, 78: False}[done.returncode]


def keys_of(schema):
    """Returns every key that the schema names, at any depth."""
    found = set()
    if isinstance(schema, dict):
        found |= set(schema.get("properties", {}))
        for value in schema.values():
            found |= keys_of(value)
    elif isinstance(schema, list):
        for value in schema:
            found |= keys_of(value)
    return found


class Schemas(unittest.TestCase):
    def test_nodes(self):
        for good, texts in ((True, GOOD_NODES), (False, BAD_NODES)):
            for text in texts:
                with self.subTest(text):
                    self.assertEqual((schema_takes("hatrpcd", text), hatrpcd_takes(text)),
                                     (good, good))

    def test_what_the_loader_alone_knows(self):
        for name, text in LOADER_ALONE.items():
            with self.subTest(name):
                self.assertEqual((schema_takes("hatrpcd", text), hatrpcd_takes(text)),
                                 (True, False))

    def test_manifests(self):
        node = "node: a\nmanifests: [m.yaml]"
        for good, texts in ((True, GOOD_MANIFESTS), (False, BAD_MANIFESTS)):
            for text in texts:
                with self.subTest(text):
                    self.assertEqual((schema_takes("manifest", text), hatrpcd_takes(node, text)),
                                     (good, good))

    def test_the_examples(self):
        for schema, file in (("hatrpcd", "hatrpcd.yaml"), ("manifest", "calculator.yaml")):
            text = (CONFIG / "examples" / file).read_text(encoding="utf-8")
            self.assertTrue(schema_takes(schema, text), file)

    def test_the_schema_and_the_loader_have_the_same_keys(self):
        asked = ("zz: 1\nfabric: {zz: 1, faults: {zz: 1}}\nlink: {zz: 1, tls: {zz: 1}}\npeers: {b: {zz: 1}}\nendpoints: [{zz: 1}]\n"
                 "serves: {S: {zz: 1}}\nadmin: {zz: 1}\naccess_log: {zz: 1}\ntracing: {zz: 1}\nlimits: {zz: 1}\n")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "hatrpcd.yaml"
            file.write_text(asked, encoding="utf-8")
            told = subprocess.run([HATRPCD, "--check", "-c", file], capture_output=True, text=True,
                                  check=False).stderr
        loaders = {key for line in told.splitlines() if "unknown key 'zz'" in line
                   for key in line.split("expected one of ")[1].split(", ")}
        schema = json.loads((CONFIG / "schema" / "hatrpcd.schema.json").read_text(encoding="utf-8"))
        self.assertEqual(keys_of(schema), loaders)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
