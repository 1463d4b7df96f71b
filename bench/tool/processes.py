# SPDX-License-Identifier: Apache-2.0
"""bench/tool/processes.py: runs the processes of a measurement, and ends them with the measurement.

Each process is in a process group of its own, so that Ctrl-C reaches only `./dev bench`, which then ends the
processes. If `./dev bench` is killed, the kernel kills the processes.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import select
import subprocess
import time

from tool.experiment import Failed

END_SECONDS = 10
START_SECONDS = 20


def placed(command, cores=None, nice=0, variables=None):
    """Returns a command line that runs `command` on `cores` (in taskset(1)'s syntax), and is killed with this tool.

    `variables`: environment variables that only `command` gets.
    """
    words = ["setpriv", "--pdeathsig", "KILL"]
    if cores:
        words += ["taskset", "-c", cores]
    if nice:
        words += ["nice", "-n", str(nice)]
    if variables:
        words += ["env", *(f"{name}={value}" for name, value in variables.items())]
    return [*words, *map(str, command)]


class Group(contextlib.AbstractContextManager):
    """A context manager of running processes. On exit, it ends them in the reverse order of their starts."""

    def __init__(self):
        self.running = []

    def start(self, command, log, cores=None, nice=0, stdout=None, variables=None):
        with open(log, "a", encoding="utf-8") as file:
            process = subprocess.Popen(placed(command, cores, nice, variables), stdin=subprocess.DEVNULL,
                                       stdout=stdout or file, stderr=file, text=True,
                                       process_group=0)
        process.name = pathlib.Path(command[0]).name
        process.log = pathlib.Path(log)
        self.running.append(process)
        return process

    def __exit__(self, *_):
        for process in reversed(self.running):
            process.terminate()
        for process in reversed(self.running):
            try:
                process.wait(timeout=END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout:
                process.stdout.close()
        self.running.clear()


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it printed nothing"


def must_run(process):
    """Raises Failed if a process that must run has ended."""
    if process.poll() is not None:
        said = last_line(process.log.read_text(encoding="utf-8", errors="replace"))
        raise Failed(f"{process.name} ended, status {process.returncode}: {said}")


def first_line(process, seconds=START_SECONDS):
    """Waits at most `seconds` until a process has printed its first line, and returns this line."""
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    line = process.stdout.readline().strip() if ready else ""
    if not line:
        process.terminate()
        process.wait(timeout=END_SECONDS)
        must_run(process)
    return line


def cpu_seconds(process):
    """Returns the user and system time that a running process has used so far, from its CPU-time clock.

    This clock counts nanoseconds. The times in /proc/PID/stat count in steps of 10 ms.
    """
    must_run(process)
    number = ctypes.c_int()
    if error := ctypes.CDLL(None).clock_getcpuclockid(process.pid, ctypes.byref(number)):
        raise Failed(f"{process.name} has no CPU-time clock: {os.strerror(error)}")
    return time.clock_gettime(number.value)


def wake_ups(process):
    """Returns how often the present threads of a running process have waited for something so far."""
    must_run(process)
    found = 0
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the thread has just ended
            text = (task / "status").read_text(encoding="utf-8")
            found += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)$", text, re.MULTILINE).group(1))
    return found


class Client(contextlib.AbstractContextManager):
    """A program that measures for `seconds` and prints one JSON object. A context manager, which ends the program."""

    def __init__(self, command, seconds, cores=None, variables=None):
        self.name = pathlib.Path(command[0]).name
        self.limit = seconds * 10 + 30
        self.process = subprocess.Popen(placed(command, cores, variables=variables), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        process_group=0)

    def result(self):
        """Waits until the program ends; returns the JSON object that it printed."""
        try:
            out, errors = self.process.communicate(timeout=self.limit)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.name}: no end within {self.limit:g} s") from None
        if self.process.returncode != 0:
            raise Failed(f"{self.name}: exit status {self.process.returncode}: {last_line(errors)}")
        try:
            return json.loads(out)
        except ValueError:
            raise Failed(f"{self.name}: no JSON: {out[:200]!r}") from None

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        for pipe in (self.process.stdout, self.process.stderr):
            pipe.close()
        self.process.wait()


def run_client(command, seconds, cores=None, variables=None):
    """Runs a program that measures until it ends; returns the JSON object that it printed."""
    with Client(command, seconds, cores, variables) as client:
        return client.result()
