# SPDX-License-Identifier: Apache-2.0
"""bench/tool/quiet.py: checks whether other processes use too much of this machine's time for a measurement."""

import dataclasses
import os
import pathlib
import time

SAMPLE_SECONDS = 1.5
BUSY_CORES_MAX = 0.2  # cores that all other processes may use in total; it is 0.01 to 0.05 on an idle machine
NAMED_MAX = 5
PROC = pathlib.Path("/proc")


@dataclasses.dataclass(frozen=True)
class Sample:
    """How many cores other processes used during a sample. The unit is a core."""
    cores: int  # number of cores of this machine
    busy: float  # cores that all other processes used, and cores that the host of a virtual machine has stolen
    by_name: dict  # cores by command, in descending order

    def is_busy(self):
        return self.busy > BUSY_CORES_MAX

    def words(self):
        named = ", ".join(f"{name} {cores:.2f}" for name, cores in list(self.by_name.items())[:NAMED_MAX]
                          if cores >= 0.01)
        return f"other processes take {self.busy:.2f} of its {self.cores} cores" + (
            f" ({named})" if named else "")


def total_ticks(proc):
    """Returns two numbers of ticks of all cores since boot: busy, and stolen by the host of a virtual machine."""
    fields = (proc / "stat").read_text(encoding="utf-8").splitlines()[0].split()[1:]
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, fields[:8])
    return user + nice + system + irq + softirq, steal


def process_ticks(proc):
    """Returns {pid: (command, ticks)} of all running processes."""
    found = {}
    for entry in proc.glob("[0-9]*"):
        try:
            head, _, tail = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")
        except OSError:
            continue  # the process has just ended
        fields = tail.split()
        found[int(entry.name)] = head.partition("(")[2], int(fields[11]) + int(fields[12])
    return found


def sample(seconds=SAMPLE_SECONDS, proc=PROC, sleep=time.sleep):
    """Returns a Sample of `seconds`. Processes that start or end during it count in `busy` but not in `by_name`."""
    tick = os.sysconf("SC_CLK_TCK") * seconds
    (busy, steal), before = total_ticks(proc), process_ticks(proc)
    sleep(seconds)
    (busy_then, steal_then), after = total_ticks(proc), process_ticks(proc)
    own = os.getpid()
    by_name = {"stolen by the host of this machine": (steal_then - steal) / tick}
    mine = 0
    for pid, (name, ticks) in after.items():
        _, earlier = before.get(pid, (name, 0))
        if pid == own:
            mine = (ticks - earlier) / tick
        else:
            by_name[name] = by_name.get(name, 0) + (ticks - earlier) / tick
    taken = (busy_then - busy + steal_then - steal) / tick - mine
    return Sample(len(os.sched_getaffinity(0)), max(0.0, taken),
                  dict(sorted(by_name.items(), key=lambda one: -one[1])))
