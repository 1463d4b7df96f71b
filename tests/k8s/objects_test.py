#!/usr/bin/python3
"""tests/k8s/objects_test.py: what kustomize and Helm make of deploy/k8s: objects_test.py PROGRAMS K8S_FOLDER.

Every object keeps to its schema, what one names the others have, hatrpcd takes the configuration
in them, and chart and overlays say the same. K8S_FOLDER is build.py's.
"""

import copy
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

import schemas
from deployment import (K8S, OVERLAYS, all_yaml, base_manifests, bytes_of, check, replaced,
                        write_node)

PROGRAMS, TOOLS = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
DRAIN_SECONDS = 30          # limits.drain_timeout
HELD_BYTES = 256 << 20      # limits.max_buffered, per worker
PINNED_BYTES = 144 << 20    # fabric.max_pinned, per worker
REST_BYTES = 100 << 20      # the program, its routes and metrics
HASH = r"-[a-z0-9]{10}$"    # behind the name of the ConfigMap that wants a restart


@functools.lru_cache(maxsize=None)
def render(*words):
    """The objects; whoever changes one takes a copy."""
    done = subprocess.run([TOOLS / "render", *words], capture_output=True, text=True, check=False,
                          timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"render {' '.join(map(str, words))}: {done.stderr}")
    return all_yaml(done.stdout)


def from_(folder):
    """deploy/k8s as kustomize wants it: relative."""
    return os.path.relpath(K8S, os.path.realpath(folder))


@functools.lru_cache(maxsize=None)
def overlay(name):
    """With monitoring, as an operator would add it."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "kustomization.yaml").write_text(json.dumps({
            "resources": [f"{from_(folder)}/overlays/{name}"],
            "components": [f"{from_(folder)}/components/monitoring"]}), encoding="utf-8")
        return render("kustomize", folder)


@functools.lru_cache(maxsize=None)
def chart(mode):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as more:
        json.dump({"rdma": {"mode": mode}, "monitoring": {"enabled": True},
                   "manifests": base_manifests()}, more)
        more.flush()
        return render("helm", K8S / "chart", K8S / "example" / "values.yaml", more.name)


def everything():
    yield "chart as it is", render("helm", K8S / "chart")
    yield "example", render("kustomize", K8S / "example")
    yield from ((f"overlay {name}", overlay(name)) for name in OVERLAYS)
    yield from ((f"chart {mode}", chart(mode)) for mode in OVERLAYS.values())


def daemons():
    return ((name, objects) for name, objects in everything() if "example" not in name)


def of_kind(objects, kind):
    return [one for one in objects if one["kind"] == kind]


def daemon_set(objects):
    return of_kind(objects, "DaemonSet")[0]


def pod(objects):
    return daemon_set(objects)["spec"]["template"]["spec"]


def config_map(objects, volume):
    """The ConfigMap that a volume of hatrpcd's pods is made of."""
    name = next(one["configMap"]["name"] for one in pod(objects)["volumes"]
                if one["name"] == volume)
    return next(one for one in of_kind(objects, "ConfigMap") if one["metadata"]["name"] == name)


def node(objects):
    return yaml.safe_load(config_map(objects, "node")["data"]["hatrpcd.yaml"])


class Schemas(unittest.TestCase):
    def test_every_object_keeps_to_its_own(self):
        for name, objects in everything():
            for one in objects:
                with self.subTest(name, object=f"{one['kind']} {one['metadata']['name']}"):
                    self.assertEqual(schemas.mistakes(TOOLS, one), [])

    def test_a_mistake_is_found(self):
        objects = overlay("no-rdma")

        def broken(kind, change):
            one = copy.deepcopy(of_kind(objects, kind)[0])
            change(one["spec"])
            return schemas.mistakes(TOOLS, one)

        for what, found in {
                "misspelt": broken("DaemonSet", lambda s: s["template"]["spec"].update(hostNetwrok=True)),
                "no number": broken("DaemonSet", lambda s: s.update(minReadySeconds="soon")),
                "missing": broken("DaemonSet", lambda s: s.pop("selector")),
                "misspelt in a CRD": broken("PodMonitor", lambda s: s.update(podMetricEndpoints=[])),
                "missing in a CRD": broken("PodMonitor", lambda s: s.pop("selector")),
                "no text in a rule": broken("PrometheusRule",
                                            lambda s: s["groups"][0].update(name=7))}.items():
            with self.subTest(what):
                self.assertNotEqual(found, [])


class Objects(unittest.TestCase):
    def test_hatrpcd_takes_the_configuration_in_them(self):
        for name, objects in daemons():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                file = write_node(pathlib.Path(folder),
                                  config_map(objects, "node")["data"]["hatrpcd.yaml"],
                                  config_map(objects, "manifests")["data"])
                self.assertEqual(check(PROGRAMS / "hatrpcd", file), (0, ""))

    def test_what_pods_mount_is_there_and_changes_with_its_source(self):
        for name, objects in everything():
            for one in of_kind(objects, "DaemonSet") + of_kind(objects, "Deployment"):
                spec = one["spec"]["template"]["spec"]
                volumes = {volume["name"] for volume in spec.get("volumes", [])}
                maps = {each["metadata"]["name"] for each in of_kind(objects, "ConfigMap")}
                for volume in spec.get("volumes", []):
                    if "configMap" in volume:
                        self.assertIn(volume["configMap"]["name"], maps, name)
                for container in spec.get("initContainers", []) + spec["containers"]:
                    for mount in container.get("volumeMounts", []):
                        self.assertIn(mount["name"], volumes, name)
                        self.assertNotIn("subPath", mount, name)

    def test_services_and_monitors_find_their_pods_and_ports(self):
        for name, objects in everything():
            templates = [one["spec"]["template"]
                         for one in of_kind(objects, "DaemonSet") + of_kind(objects, "Deployment")]

            def chosen(selector):
                return [one for one in templates
                        if selector.items() <= one["metadata"]["labels"].items()]

            def ports(template):
                return {port["name"] for container in template["spec"]["containers"]
                        for port in container.get("ports", [])}

            for service in of_kind(objects, "Service"):
                template, = chosen(service["spec"]["selector"])
                self.assertEqual(service["spec"]["internalTrafficPolicy"], "Local", name)
                for port in service["spec"]["ports"]:
                    if isinstance(port["targetPort"], str):
                        self.assertIn(port["targetPort"], ports(template), name)
            for monitor in of_kind(objects, "PodMonitor"):
                template, = chosen(monitor["spec"]["selector"]["matchLabels"])
                for endpoint in monitor["spec"]["podMetricsEndpoints"]:
                    self.assertIn(endpoint["port"], ports(template), name)

    def test_the_service_has_the_tcp_endpoints(self):
        for name, objects in daemons():
            with self.subTest(name):
                listening = {int(one["listen"].rpartition(":")[2]) for one in node(objects)["endpoints"]
                             if one["listen"].startswith("tcp:")}
                offered = {port["targetPort"] for one in of_kind(objects, "Service")
                           for port in one["spec"]["ports"]}
                self.assertEqual(offered, listening)

    def test_links_find_each_other(self):
        for name, objects in daemons():
            with self.subTest(name):
                container, = pod(objects)["containers"]
                link = next(one for one in container["ports"] if one["name"] == "link")
                self.assertEqual(link["hostPort"], link["containerPort"])
                self.assertEqual(node(objects)["link"]["listen"],
                                 f"tcp:0.0.0.0:{link['containerPort']}")
                for peer in node(objects)["peers"].values():
                    self.assertEqual(peer["link"].rpartition(":")[2], str(link["hostPort"]))

    def test_the_policy_lets_in_what_listens(self):
        for name, objects in daemons():
            with self.subTest(name):
                policies = of_kind(objects, "NetworkPolicy")
                self.assertEqual(len(policies), 0 if pod(objects).get("hostNetwork") else 1)
                asked = node(objects)
                listening = {int(address.rpartition(":")[2]) for address in
                             [asked["admin"]["listen"], asked["link"]["listen"],
                              *(one["listen"] for one in asked["endpoints"])]
                             if address.startswith("tcp:")}
                for policy in policies:
                    let_in = {port["port"] for rule in policy["spec"]["ingress"]
                              for port in rule["ports"]}
                    if "as it is" in name:  # whence links come has not been said
                        listening.discard(7471)
                    self.assertEqual(let_in, listening)

    def test_a_drain_may_end_by_itself(self):
        for name, objects in daemons():
            self.assertGreater(pod(objects)["terminationGracePeriodSeconds"], DRAIN_SECONDS, name)

    def test_memory_is_enough_for_what_the_workers_may_hold(self):
        for name, objects in daemons():
            with self.subTest(name):
                asked, (container,) = node(objects), pod(objects)["containers"]
                each = HELD_BYTES + (PINNED_BYTES if asked["fabric"] == "verbs" else 0)
                self.assertGreaterEqual(bytes_of(container["resources"]["limits"]["memory"]),
                                        asked["workers"] * each + REST_BYTES)

    def test_it_has_no_more_rights_than_it_needs(self):
        for name, objects in daemons():
            with self.subTest(name):
                rdma = node(objects)["fabric"] == "verbs"
                rights = pod(objects)["containers"][0]["securityContext"]
                self.assertEqual(rights["capabilities"],
                                 {"drop": ["ALL"], **({"add": ["IPC_LOCK"]} if rdma else {})})
                self.assertEqual((rights["runAsUser"], rights["runAsNonRoot"]),
                                 (0, False) if rdma else (7471, True))
                self.assertFalse(rights["allowPrivilegeEscalation"])
                self.assertTrue(rights["readOnlyRootFilesystem"])
                self.assertNotIn("privileged", rights)
                init = pod(objects)["initContainers"][0]
                owner = init["command"][init["command"].index("-o") + 1]
                self.assertEqual(owner, str(rights["runAsUser"]))

    def test_the_alerts_are_those_of_the_one_file(self):
        source = yaml.safe_load((K8S / "chart" / "files" / "hatrpc.rules.yaml").read_text())
        for name, objects in daemons():
            for rule in of_kind(objects, "PrometheusRule"):
                self.assertEqual(rule["spec"], source, name)


class Agreement(unittest.TestCase):
    """The chart says what the overlays say."""

    def plain(self, objects):
        """By kind and name, without what belongs to one of the two alone."""
        found = {}
        for one in copy.deepcopy(objects):
            meta = one["metadata"]
            meta["labels"] = {"name": meta.get("labels", {}).get("app.kubernetes.io/name")}
            if one["kind"] == "ConfigMap":
                meta["name"] = re.sub(HASH, "", meta["name"])
                one["data"] = {key: yaml.safe_load(text) for key, text in one["data"].items()}
            if one["kind"] == "DaemonSet":
                template = one["spec"]["template"]
                for volume in template["spec"]["volumes"]:
                    if "configMap" in volume:
                        volume["configMap"]["name"] = re.sub(HASH, "", volume["configMap"]["name"])
            if one["kind"] != "Namespace":  # `helm install --create-namespace` makes it
                found[one["kind"], meta["name"]] = one
        return found

    def test_of_every_mode(self):
        self.maxDiff = None
        for name, mode in OVERLAYS.items():
            ours, charts = self.plain(overlay(name)), self.plain(chart(mode))
            self.assertEqual(ours.keys(), charts.keys(), name)
            for key, one in ours.items():
                with self.subTest(name, object=key):
                    self.assertEqual(charts[key], one)


class Changes(unittest.TestCase):
    """A manifest is reloaded by the pods that are there; the node's configuration restarts them."""

    def test_by_the_names_of_their_config_maps(self):
        for name, objects in daemons():
            with self.subTest(name):
                self.assertEqual(config_map(objects, "manifests")["metadata"]["name"],
                                 "hatrpcd-manifests")
                self.assertRegex(config_map(objects, "node")["metadata"]["name"],
                                 "^hatrpcd-node" + HASH)

    def test_helm(self):
        def template(**values):
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                json.dump(values, file)
                file.flush()
                return daemon_set(render("helm", K8S / "chart", file.name))["spec"]["template"]

        first = template()
        self.assertEqual(template(manifests=base_manifests()), first)
        self.assertNotEqual(template(config={"workers": 3}), first)

    def test_an_operators_own_folder_as_the_readme_shows_it(self):
        readme = (K8S / "README.md").read_text(encoding="utf-8")
        shown = re.search(r"(?s)```yaml\n(# my-cluster/kustomization\.yaml.*?)```", readme)[1]
        with tempfile.TemporaryDirectory() as folder:
            own = pathlib.Path(folder)
            (own / "kustomization.yaml").write_text(
                replaced(shown, {"../hatrpc/deploy/k8s": from_(folder)}), encoding="utf-8")
            write_node(own, "node: $NODE_NAME\nmanifests: [../manifests]\n",
                       {"orders.yaml": "hatrpc_manifest: 1\nservices: {}\n"})
            objects = render("kustomize", own)
        self.assertEqual(node(objects).keys(), {"node", "manifests"})
        self.assertEqual(list(config_map(objects, "manifests")["data"]), ["orders.yaml"])
        self.assertEqual(config_map(objects, "manifests")["metadata"]["name"], "hatrpcd-manifests")
        self.assertRegex(pod(objects)["containers"][0]["image"], r"^registry\.example/hatrpcd:")
        self.assertEqual({one["metadata"].get("namespace") for one in objects
                          if one["kind"] != "Namespace"}, {"hatrpc-system"})
        self.assertTrue(of_kind(objects, "PodMonitor"))
        policy, = of_kind(objects, "NetworkPolicy")
        self.assertEqual(policy["spec"]["ingress"][0]["from"], [{"ipBlock": {"cidr": "192.0.2.0/24"}}])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
