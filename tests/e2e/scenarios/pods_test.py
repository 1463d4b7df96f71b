# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/pods_test.py: a DaemonSet's new pod takes over from the old pod, without Kubernetes.

A pod is a hatrpcd in a PID namespace of its own, with the arguments and the readiness probe of
deploy/k8s/components/hitless. The pods share the node's folders, and each pod has its own pod folders. The test takes
the steps that the DaemonSet controller takes.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading

import yaml

from setting import PROGRAMS, Client, Scenario, main, probe_nodes
from nodes import wait_until
from takeover_test import PATIENCE_S, add, ended, load, metric, mixed, seldom

HITLESS = pathlib.Path(__file__).resolve().parents[3] / "deploy" / "k8s" / "components" / "hitless"
NAMESPACE = ["unshare", "--pid", "--mount-proc", "--fork", "--kill-child"]
if os.geteuid() != 0:
    NAMESPACE[1:1] = ["--user", "--map-current-user"]


def container():
    """Returns the specification of hatrpcd's container in the DaemonSet of components/hitless."""
    spec = yaml.safe_load((HITLESS / "daemonset.yaml").read_text(encoding="utf-8"))["spec"]["template"]["spec"]
    one, = spec["containers"]
    return one


class Pod:
    """One hatrpcd as process 1 of its own PID namespace, with those methods of subprocess.Popen that a Node uses."""

    def __init__(self, node, stay=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pod-", dir=node.folder))
        self.places = {"/etc/hatrpc/node/hatrpcd.yaml": str(node.config), "/run/hatrpcd-pod": str(self.folder)}
        words = [self.here(word) for word in container()["args"]]
        if stay is not None:
            words[words.index("--stay") + 1] = str(stay)
        with open(node.folder / "log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen([*NAMESPACE, PROGRAMS / "hatrpcd", *words], stdout=log, stderr=log)
        self.poll, self.wait = self.process.poll, self.process.wait

    def here(self, word):
        for place, ours in self.places.items():
            word = word.replace(place, ours)
        return word

    @property
    def returncode(self):
        return self.process.returncode

    @property
    def pid(self):
        """The process id of hatrpcd. Signals must be sent to hatrpcd, because its parent `unshare` ignores SIGTERM."""
        tasks = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        child, = pathlib.Path(tasks).read_text(encoding="ascii").split()
        return int(child)

    def send_signal(self, how):
        os.kill(self.pid, how)

    def kill(self):
        self.process.kill()

    def end(self):
        """Kills the pod if it still runs. This kills `unshare`, and then the kernel kills hatrpcd."""
        if self.poll() is None:
            self.kill()
            self.wait()

    def ready(self):
        """Runs the readiness probe as kubelet does. Returns True if the probe succeeds."""
        probe = [self.here(word) for word in container()["readinessProbe"]["exec"]["command"]]
        return subprocess.run(probe, check=False).returncode == 0


class Pods(Scenario):
    def pod(self, node, **more):
        pod = Pod(node, **more)
        self.addCleanup(pod.end)
        return pod

    def roll(self, node, new):
        """Waits until the pod `new` is ready, and makes it the node's process; the old pod must not be ready then.

        Returns the old pod. The DaemonSet controller would end the old pod next.
        """
        old = node.process
        wait_until(f"the new pod is ready; {node.log()[-2000:]}", new.ready, PATIENCE_S)
        node.process = new
        self.assertFalse(old.ready(), "both pods are ready at the same time")
        return old

    def first(self, nodes):
        """Stops host-a's daemon and starts a pod in its place."""
        nodes.a.stop()
        nodes.a.process = pod = self.pod(nodes.a)
        wait_until("the first pod is ready", pod.ready, PATIENCE_S)
        return pod

    def terminate(self, pod):
        pod.send_signal(signal.SIGTERM)
        self.assertEqual(ended(pod), 0)

    def test_pods_change_under_load_and_no_call_fails(self):
        with probe_nodes() as nodes:
            self.first(nodes)
            with load(self, nodes, (add, add, mixed, seldom, seldom)) as callers:
                for _ in range(3):
                    old = self.roll(nodes.a, self.pod(nodes.a))
                    self.terminate(old)
                wait_until("the new pod has all connections", lambda: metric(
                    nodes.a, "hatrpc_connections_taken_over_total") == len(callers), PATIENCE_S)

    def test_one_that_has_given_way_waits_for_its_end(self):
        with probe_nodes() as nodes:
            self.first(nodes)
            with load(self, nodes, (add, seldom)):
                old = self.roll(nodes.a, self.pod(nodes.a))
                wait_until("the old pod has nothing left", lambda: "this one stays for 300 s" in nodes.a.log(),
                           PATIENCE_S)
                self.assertIsNone(old.poll())
                self.assertTrue(nodes.a.process.ready())
                self.terminate(old)

    def test_one_that_nobody_ends_leaves_and_takes_the_node_back_when_it_is_started_again(self):
        with probe_nodes() as nodes:
            self.first(nodes)
            self.terminate(nodes.a.process)
            nodes.a.process = self.pod(nodes.a, stay=1)
            wait_until("the first pod is ready", nodes.a.process.ready, PATIENCE_S)
            with load(self, nodes, (add, seldom)):
                old = self.roll(nodes.a, self.pod(nodes.a))
                self.assertEqual(ended(old), 0)
                # The old container has ended, and kubelet restarts it.
                self.terminate(self.roll(nodes.a, self.pod(nodes.a)))

    def test_the_old_pod_finishes_its_calls_when_it_is_ended_at_once(self):
        with probe_nodes() as nodes:
            self.first(nodes)
            answers = []

            def call():
                with Client(nodes) as calls:
                    answers.append(calls.slow(1500))
                    answers.append(calls.add(1, 2))

            thread = threading.Thread(target=call)
            thread.start()
            wait_until("slow is at the server", lambda: any(
                one["in_flight"] for one in nodes.b.get("/functions") if one["method"] == "slow"), PATIENCE_S)
            self.terminate(self.roll(nodes.a, self.pod(nodes.a)))
            thread.join()
            self.assertEqual(answers, [1500, 3])

    def test_a_new_pod_with_a_mistake_is_never_ready_and_the_old_one_stays_so(self):
        with probe_nodes() as nodes:
            old = self.first(nodes)
            good = nodes.a.config.read_text(encoding="utf-8")
            with load(self, nodes, (add, seldom)):
                nodes.a.config.write_text(json.dumps(json.loads(good) | {"fabrics": "tcp"}), encoding="utf-8")
                new = self.pod(nodes.a)
                self.assertEqual(ended(new), 78)
                nodes.a.config.write_text(good, encoding="utf-8")
                self.assertEqual((new.ready(), old.ready()), (False, True))

    def test_a_pod_that_was_killed_leaves_nothing_that_says_that_it_serves(self):
        with probe_nodes() as nodes:
            pod = self.first(nodes)
            os.kill(pod.pid, signal.SIGKILL)
            pod.wait()
            self.assertTrue(pod.ready(), "the serving file remains; kubelet itself knows that the container has ended")
            words = [pod.here(word) for word in container()["args"]]
            words[words.index("--config") + 1] += ".none"  # the file is missing, so the daemon exits before it serves
            again = subprocess.run([PROGRAMS / "hatrpcd", *words], capture_output=True, check=False,
                                   timeout=PATIENCE_S)
            self.assertEqual((again.returncode, pod.ready()), (78, False))
            nodes.a.process = self.pod(nodes.a)
            wait_until("another pod is ready", nodes.a.process.ready, PATIENCE_S)
            with Client(nodes) as calls:
                add(calls, 1)

    def test_the_first_process_of_a_container_starts_no_successor_in_it(self):
        with probe_nodes() as nodes:
            pod = self.first(nodes)
            pod.send_signal(signal.SIGUSR2)
            wait_until("the daemon logs why not", lambda: "first process of its container" in nodes.a.log(), PATIENCE_S)
            self.assertTrue(pod.ready())
            with Client(nodes) as calls:
                add(calls, 1)


if __name__ == "__main__":
    if shutil.which("unshare") is None:
        raise SystemExit("pods: unshare is not installed; it is in Debian's util-linux")
    main()
