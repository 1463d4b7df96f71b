#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/k8s/objects_test.py: checks the objects that kustomize and Helm make: objects_test.py PROGRAMS K8S_FOLDER.

Every object must be valid by its schema, and may name only objects that exist. hatrpcd must accept the configurations
in the objects. The Helm chart and the kustomize overlays must make the same objects. build.py makes K8S_FOLDER.
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
from deployment import (K8S, OVERLAYS, all_yaml, base_manifests, by_name, bytes_of, check, replaced,
                        write_certificates, write_node)

PROGRAMS, TOOLS = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
DRAIN_SECONDS = 30          # limits.drain_timeout
HELD_BYTES = 256 << 20      # limits.max_buffered, per worker
PINNED_BYTES = 144 << 20    # RDMA lanes, per worker: 18 links with 8 MiB each
REST_BYTES = 100 << 20      # memory for the program, its routes and its metrics
HASH = r"-[a-z0-9]{10}$"    # the end of a ConfigMap's name that contains a hash, so that its change restarts pods


@functools.lru_cache(maxsize=None)
def render(*words):
    """Runs kustomize or Helm; returns the objects. A caller must not change the objects, because they are cached."""
    done = subprocess.run([TOOLS / "render", *words], capture_output=True, text=True, check=False,
                          timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"render {' '.join(map(str, words))}: {done.stderr}")
    return all_yaml(done.stdout)


def from_(folder):
    """Returns the path of deploy/k8s relative to a folder, because kustomize accepts only relative paths."""
    return os.path.relpath(K8S, os.path.realpath(folder))


# The chart's values for the hatrpcd.yaml of by_name(); null removes the peers of example/values.yaml.
NAMED = {"config": {
    "peers": {"worker-1": None, "worker-2": None,
              "nodes": {"link": "dns:hatrpcd-nodes.hatrpc-system.svc.cluster.local:7471"}},
    "endpoints": [{"listen": address, "service": "Calculator", "peers": ["nodes"]}
                  for address in ("tcp:$POD_IP:9090", "unix:/run/hatrpcd/calculator.sock")]}}
# By name: kustomize components that an operator can add, and the chart's values that have the same effect.
VARIANTS = {
    "peers by name": ((), NAMED),
    "plain": ((), {}),
    "cert-manager": (("tls-cert-manager",),
                     {"tls": {"issuerRef": {"name": "hatrpc-ca", "kind": "ClusterIssuer"}}}),
    "hitless": (("hitless",), {"hitlessUpgrade": {"enabled": True}}),
}
for more in ("cert-manager", "peers by name"):
    VARIANTS[f"{more} and hitless"] = tuple(
        a + b if isinstance(a, tuple) else a | b for a, b in zip(VARIANTS[more], VARIANTS["hitless"]))
KINDS = [(name, variant) for name in OVERLAYS for variant in VARIANTS
         if not (name == "sriov" and "hitless" in variant)]


@functools.lru_cache(maxsize=None)
def overlay(name, variant="plain"):
    """Returns the objects of an overlay with the monitoring component and the components of `variant`."""
    components, _ = VARIANTS[variant]
    with tempfile.TemporaryDirectory() as folder:
        own = {"resources": [f"{from_(folder)}/overlays/{name}"],
               "components": [f"{from_(folder)}/components/{one}" for one in ("monitoring", *components)]}
        if "by name" in variant:
            node_text = (K8S / "overlays" / name / "hatrpcd.yaml").read_text(encoding="utf-8")
            (pathlib.Path(folder) / "hatrpcd.yaml").write_text(by_name(node_text), encoding="utf-8")
            own["configMapGenerator"] = [{"name": "hatrpcd-node", "namespace": "hatrpc-system",
                                          "behavior": "replace", "files": ["hatrpcd.yaml"]}]
        (pathlib.Path(folder) / "kustomization.yaml").write_text(json.dumps(own), encoding="utf-8")
        return render("kustomize", folder)


@functools.lru_cache(maxsize=None)
def chart(mode, variant="plain"):
    _, values = VARIANTS[variant]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as more:
        json.dump({"rdma": {"mode": mode}, "monitoring": {"enabled": True},
                   "manifests": base_manifests(), **values}, more)
        more.flush()
        return render("helm", K8S / "chart", K8S / "example" / "values.yaml", more.name)


def template(**values):
    """Returns the objects that the chart makes with only these values."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump(values, file)
        file.flush()
        return render("helm", K8S / "chart", file.name)


def everything():
    yield "chart as it is", render("helm", K8S / "chart")
    yield "chart, insecure", template(tls={"enabled": False}, networkPolicy={"nodes": ["10.0.0.0/24"]})
    yield "example", render("kustomize", K8S / "example")
    yield from ((f"overlay {name}, {variant}", overlay(name, variant)) for name, variant in KINDS)
    yield from ((f"chart {OVERLAYS[name]}, {variant}", chart(OVERLAYS[name], variant))
                for name, variant in KINDS)


def daemons():
    return ((name, objects) for name, objects in everything() if "example" not in name)


def of_kind(objects, kind):
    return [one for one in objects if one["kind"] == kind]


def daemon_set(objects):
    return of_kind(objects, "DaemonSet")[0]


def pod(objects):
    return daemon_set(objects)["spec"]["template"]["spec"]


def is_headless(service):
    return service["spec"].get("clusterIP") == "None"


def config_map(objects, volume):
    """Returns the ConfigMap of the volume `volume` of hatrpcd's pods."""
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
        objects = overlay("no-rdma", "cert-manager")

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
                                            lambda s: s["groups"][0].update(name=7)),
                "no such usage": broken("Certificate", lambda s: s.update(usages=["all"]))}.items():
            with self.subTest(what):
                self.assertNotEqual(found, [])


class Objects(unittest.TestCase):
    def test_hatrpcd_takes_the_configuration_in_them(self):
        for name, objects in daemons():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                file = write_node(pathlib.Path(folder),
                                  config_map(objects, "node")["data"]["hatrpcd.yaml"],
                                  config_map(objects, "manifests")["data"])
                if "tls" in node(objects)["link"]:
                    write_certificates(PROGRAMS, pathlib.Path(folder) / "tls")
                self.assertEqual(check(PROGRAMS / "hatrpcd", file), (0, ""))

    def test_links_have_tls_but_where_that_was_turned_off(self):
        for name, objects in daemons():
            with self.subTest(name):
                link, volumes = node(objects)["link"], {one["name"]: one for one in pod(objects)["volumes"]}
                if "insecure" in name:
                    self.assertEqual((link["insecure"], "tls" in volumes), (True, False))
                    continue
                self.assertNotIn("insecure", link)
                mounts = {one["name"]: one for one in pod(objects)["containers"][0]["volumeMounts"]}
                for key in ("certificate", "key", "ca"):
                    self.assertEqual(os.path.dirname(os.path.normpath(f"/etc/hatrpc/node/{link['tls'][key]}")),
                                     mounts["tls"]["mountPath"])
                self.assertEqual({os.path.basename(link["tls"][key]) for key in ("certificate", "key", "ca")},
                                 {"tls.crt", "tls.key", "ca.crt"}, "the names must be those of cert-manager")
                for certificate in of_kind(objects, "Certificate"):
                    self.assertEqual(volumes["tls"]["secret"]["secretName"], certificate["spec"]["secretName"])
                    self.assertEqual(certificate["spec"]["uris"], link["tls"]["allow"])
                    self.assertEqual({"server auth", "client auth"} - set(certificate["spec"]["usages"]), set())
                self.assertEqual(len(of_kind(objects, "Certificate")), 1 if "cert-manager" in name else 0)
                self.assertEqual(volumes["tls"]["secret"]["secretName"], "hatrpcd-tls")
                for peer in node(objects)["peers"].values():
                    self.assertEqual([peer["identity"]], link["tls"]["allow"])
                # hatrpcd must be able to read the key by its group, and other users must not.
                self.assertEqual(volumes["tls"]["secret"]["defaultMode"], 0o440)
                self.assertEqual(pod(objects)["securityContext"]["fsGroup"],
                                 pod(objects)["containers"][0]["securityContext"]["runAsGroup"])

    def test_a_second_pod_may_come_to_the_node_and_is_told_apart(self):
        for name, objects in daemons():
            strategy = daemon_set(objects)["spec"]["updateStrategy"]["rollingUpdate"]
            container, = pod(objects)["containers"]
            with self.subTest(name):
                if "hitless" not in name:
                    self.assertEqual(strategy, {"maxUnavailable": 1, "maxSurge": 0})
                    self.assertNotIn("--takeover", container["args"])
                    continue
                self.assertEqual(strategy, {"maxUnavailable": 0, "maxSurge": 1})
                self.assertTrue(pod(objects)["hostNetwork"])
                self.assertNotIn("ports", container, "on the host's network each port would be a hostPort")
                self.assertIn("--takeover", container["args"])
                file = container["args"][container["args"].index("--serving-file") + 1]
                for probe in ("startupProbe", "readinessProbe"):
                    self.assertEqual(container[probe]["exec"]["command"], ["test", "-e", file])
                    self.assertNotIn("httpGet", container[probe])
                volumes = {one["name"]: one for one in pod(objects)["volumes"]}
                places = {one["mountPath"]: volumes[one["name"]] for one in container["volumeMounts"]}
                self.assertIn("emptyDir", places[os.path.dirname(file)], "each pod must have a serving file of its own")
                self.assertIn("hostPath", places[os.path.dirname(node(objects)["admin"]["socket"])])
                self.assertNotIn("emptyDir", places[os.path.dirname(node(objects)["admin"]["socket"])])
                for service in of_kind(objects, "Service"):
                    self.assertTrue(service["spec"]["publishNotReadyAddresses"])

    def test_the_folders_of_the_node_are_two(self):
        for name, objects in daemons():
            places = [one["hostPath"]["path"] for one in pod(objects)["volumes"] if "hostPath" in one]
            self.assertEqual(len(set(places)), len(places), name)
            if "/run/hatrpcd-admin" in places:
                self.assertIn("/run/hatrpcd", places, "applications must mount this folder, and not hatctl's")

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

    def test_who_only_connects_mounts_the_folder_of_sockets_read_only(self):
        mounts = [mount for one in of_kind(render("kustomize", K8S / "example"), "Deployment")
                  for container in one["spec"]["template"]["spec"]["containers"]
                  for mount in container.get("volumeMounts", []) if mount["mountPath"] == "/run/hatrpcd"]
        self.assertTrue(mounts)
        for mount in mounts:
            self.assertTrue(mount["readOnly"])

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
                if not is_headless(service):
                    self.assertEqual(service["spec"]["internalTrafficPolicy"], "Local", name)
                for port in service["spec"]["ports"]:
                    if isinstance(port["targetPort"], str):
                        self.assertIn(port["targetPort"], ports(template), name)
            for monitor in of_kind(objects, "PodMonitor"):
                template, = chosen(monitor["spec"]["selector"]["matchLabels"])
                for endpoint in monitor["spec"]["podMetricsEndpoints"]:
                    if "port" in endpoint:
                        self.assertIn(endpoint["port"], ports(template), name)
                    else:  # on the host's network the port has no name
                        address, = [one["replacement"] for one in endpoint["relabelings"]
                                    if one.get("targetLabel") == "__address__"]
                        self.assertEqual(address.partition(":")[2],
                                         node(objects)["admin"]["listen"].rpartition(":")[2], name)

    def test_the_service_has_the_tcp_endpoints(self):
        for name, objects in daemons():
            with self.subTest(name):
                listening = {int(one["listen"].rpartition(":")[2]) for one in node(objects)["endpoints"]
                             if one["listen"].startswith("tcp:")}
                offered = {port["targetPort"] for one in of_kind(objects, "Service") if not is_headless(one)
                           for port in one["spec"]["ports"]}
                self.assertEqual(offered, listening)

    def test_links_find_each_other(self):
        for name, objects in daemons():
            with self.subTest(name):
                container, = pod(objects)["containers"]
                port = node(objects)["link"]["listen"].removeprefix("tcp:$POD_IP:")
                for link in container.get("ports", []):
                    if link["name"] == "link":
                        self.assertEqual((link["hostPort"], link["containerPort"]), (int(port), int(port)))
                for peer in node(objects)["peers"].values():
                    self.assertEqual(peer["link"].rpartition(":")[2], port)

    def test_the_headless_service_has_the_name_and_port_of_the_group(self):
        for name, objects in daemons():
            with self.subTest(name):
                service, = [one for one in of_kind(objects, "Service") if is_headless(one)]
                port, = service["spec"]["ports"]
                listen = node(objects)["link"]["listen"].rpartition(":")[2]
                self.assertEqual((str(port["port"]), str(port["targetPort"])), (listen, listen))
                meta = service["metadata"]
                whole = f"dns:{meta['name']}.{meta['namespace']}.svc.cluster.local:{port['port']}"
                groups = [peer["link"] for peer in node(objects)["peers"].values() if peer["link"].startswith("dns:")]
                self.assertEqual(groups, [whole] if "by name" in name else [])

    def test_nothing_listens_on_an_address_that_is_not_the_pods(self):
        for name, objects in daemons():
            with self.subTest(name):
                asked = node(objects)
                for one in (asked["link"], asked["admin"], *asked["endpoints"]):
                    self.assertRegex(one["listen"], r"^(tcp:\$POD_IP:\d+|unix:/.*)$")
                told = {one["name"]: one for one in pod(objects)["containers"][0]["env"]}
                self.assertEqual(told["POD_IP"]["valueFrom"], {"fieldRef": {"fieldPath": "status.podIP"}})

    def test_the_policy_lets_in_what_listens(self):
        for name, objects in daemons():
            with self.subTest(name):
                policies = of_kind(objects, "NetworkPolicy")
                self.assertEqual(len(policies), 1)
                asked = node(objects)
                listening = {int(address.rpartition(":")[2]) for address in
                             [asked["admin"]["listen"], asked["link"]["listen"],
                              *(one["listen"] for one in asked["endpoints"])]
                             if address.startswith("tcp:")}
                for policy in policies:
                    let_in = {port["port"] for rule in policy["spec"]["ingress"]
                              for port in rule["ports"]}
                    self.assertEqual(let_in, listening)
                    links, = [rule["from"] for rule in policy["spec"]["ingress"] if rule["ports"][0]["port"] == 7471]
                    self.assertIn({"podSelector": daemon_set(objects)["spec"]["selector"]}, links,
                                  "a peer by name is connected by the address of its pod")

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
                init = pod(objects)["initContainers"][-1]
                owner = init["command"][init["command"].index("-o") + 1]
                self.assertEqual(owner, str(rights["runAsUser"]))

    def test_the_alerts_are_those_of_the_one_file(self):
        source = yaml.safe_load((K8S / "chart" / "files" / "hatrpc.rules.yaml").read_text())
        for name, objects in daemons():
            for rule in of_kind(objects, "PrometheusRule"):
                self.assertEqual(rule["spec"], source, name)


class Agreement(unittest.TestCase):
    """Checks that the chart makes the same objects as the overlays."""

    def plain(self, objects):
        """Returns the objects by kind and name, without the parts in which overlays and chart may differ."""
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
                mounts = [one["volumeMounts"] for one in
                          template["spec"]["containers"] + template["spec"]["initContainers"]]
                for unordered in (template["spec"]["volumes"], *mounts):
                    unordered.sort(key=lambda one: one["name"])
            if one["kind"] != "Namespace":  # `helm install --create-namespace` makes it
                found[one["kind"], meta["name"]] = one
        return found

    def test_of_every_mode(self):
        self.maxDiff = None
        for name, variant in KINDS:
            ours = self.plain(overlay(name, variant))
            charts = self.plain(chart(OVERLAYS[name], variant))
            self.assertEqual(ours.keys(), charts.keys(), name)
            for key, one in ours.items():
                with self.subTest(name, variant=variant, object=key):
                    self.assertEqual(charts[key], one)


class Changes(unittest.TestCase):
    """Checks that running pods see a changed manifest, and that a changed node configuration restarts the pods."""

    def test_by_the_names_of_their_config_maps(self):
        for name, objects in daemons():
            with self.subTest(name):
                self.assertEqual(config_map(objects, "manifests")["metadata"]["name"],
                                 "hatrpcd-manifests")
                self.assertRegex(config_map(objects, "node")["metadata"]["name"],
                                 "^hatrpcd-node" + HASH)

    def test_helm(self):
        def pods(**values):
            return daemon_set(template(**values))["spec"]["template"]

        first = pods()
        self.assertEqual(pods(manifests=base_manifests()), first)
        self.assertNotEqual(pods(config={"workers": 3}), first)

    def test_what_cannot_be_is_refused(self):
        for said, values in {
                "hitlessUpgrade wants the host's network": {
                    "hitlessUpgrade": {"enabled": True}, "rdma": {"mode": "sriov"}},
                "links have either": {"config": {"link": {"insecure": True}}},
                "cert-manager wants tls.identity": {
                    "tls": {"enabled": True, "identity": "", "issuerRef": {"name": "ca"}}},
                "secret is not allowed": {"tls": {"secret": "hatrpcd"}},
                "issuerRef": {"tls": {"issuerRef": {"kind": "ClusterIssuer"}}},
                "tls.duration": {"tls": {"duration": "30 days"}},
                "adminFolder": {"hitlessUpgrade": {"adminFolder": "run"}}}.items():
            with self.subTest(said), self.assertRaises(AssertionError) as caught:
                template(**values)
            self.assertIn(said, str(caught.exception))

    def test_tls_by_other_volumes_and_names(self):
        readme = (K8S / "README.md").read_text(encoding="utf-8")
        shown = yaml.safe_load(re.search(r"(?s)```yaml\n(# values\.yaml.*?)```", readme)[1])
        objects = template(**shown)
        self.assertEqual([found for one in objects for found in schemas.mistakes(TOOLS, one)], [])
        self.assertEqual(of_kind(objects, "Certificate"), [])
        volume, = [one for one in pod(objects)["volumes"] if one["name"] == "tls"]
        self.assertEqual(volume["csi"]["driver"], "csi.cert-manager.io")
        self.assertNotIn("secret", volume)
        named = template(tls={"enabled": True, "identity": "hatrpcd.example", "issuerRef": {"name": "ca"}})
        self.assertEqual(of_kind(named, "Certificate")[0]["spec"]["dnsNames"], ["hatrpcd.example"])
        self.assertEqual([found for one in named for found in schemas.mistakes(TOOLS, one)], [])
        own = template(tls={"enabled": True, "identity": ""}, config={
            "peers": {"worker-1": {"link": "tcp:10.0.0.11:7471"}}})
        self.assertNotIn("allow", node(own)["link"]["tls"])
        self.assertNotIn("identity", node(own)["peers"]["worker-1"])

    def test_an_operators_own_folder_as_the_readme_shows_it(self):
        readme = (K8S / "README.md").read_text(encoding="utf-8")
        shown = re.search(r"(?s)```yaml\n(# my-cluster/kustomization\.yaml.*?)```", readme)[1]

        def own_folder(replacements):
            with tempfile.TemporaryDirectory() as folder:
                own = pathlib.Path(folder)
                (own / "kustomization.yaml").write_text(
                    replaced(shown, replacements | {"../hatrpc/deploy/k8s": from_(folder)}),
                    encoding="utf-8")
                write_node(own, "node: $NODE_NAME\nmanifests: [../manifests]\n",
                           {"orders.yaml": "hatrpc_manifest: 1\nservices: {}\n"})
                return render("kustomize", own)

        objects = own_folder({})
        self.assertEqual(of_kind(objects, "Certificate"), [])
        with_more = own_folder({
            "  # - ../hatrpc": "  - ../hatrpc",
            "configMapGenerator:": "  - ../hatrpc/deploy/k8s/components/hitless\nconfigMapGenerator:"})
        self.assertTrue(pod(with_more)["hostNetwork"])
        self.assertEqual(len(of_kind(with_more, "Certificate")), 1)
        self.assertEqual(node(objects).keys(), {"node", "manifests"})
        self.assertEqual(list(config_map(objects, "manifests")["data"]), ["orders.yaml"])
        self.assertEqual(config_map(objects, "manifests")["metadata"]["name"], "hatrpcd-manifests")
        self.assertRegex(pod(objects)["containers"][0]["image"], r"^registry\.example/hatrpcd:")
        self.assertEqual({one["metadata"].get("namespace") for one in objects
                          if one["kind"] != "Namespace"}, {"hatrpc-system"})
        self.assertTrue(of_kind(objects, "PodMonitor"))
        policy, = of_kind(objects, "NetworkPolicy")
        self.assertEqual(policy["spec"]["ingress"][0]["from"][0], {"ipBlock": {"cidr": "192.0.2.0/24"}})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
