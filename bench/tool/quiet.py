# SPDX-License-Identifier: Apache-2.0
"""bench/tool/quiet.py: whether this machine has the time to measure: what its processes take of it."""

import dataclasses
import os
import pathlib
import time

SAMPLE_SECONDS = 1.5
BUSY_CORES_MAX = 0.2  # of all other processes together; an idle machine has 0.01 to 0.05
NAMED_MAX = 5
PROC = pathlib.Path("/proc")


@dataclasses.dataclass(frozen=True)
class Sample:
    """What others took of the cores in a while: 1.0 is one core."""
    cores: int  # that there are
    busy: float  # all processes but this one, and what the machine's host gave to others
    by_name: dict  # command -> cores, the most first

    def is_busy(self):
        return self.busy > BUSY_CORES_MAX

    def words(self):
        named = ", ".join(f"{name} {cores:.2f}" for name, cores in list(self.by_name.items())[:NAMED_MAX]
                          if cores >= 0.01)
        return f"other processes take {self.busy:.2f} of its {self.cores} cores" + (
            f" ({named})" if named else "")


def total_ticks(proc):
    """Of all cores since the start: busy, and stolen by the machine's host."""
    fields = (proc / "stat").read_text(encoding="utf-8").splitlines()[0].split()[1:]
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, fields[:8])
    return user + nice + system + irq + softirq, steal


def process_ticks(proc):
    """{pid: (command, ticks)} of those that live."""
    found = {}
    for entry in proc.glob("[0-9]*"):
        try:
            head, _, tail = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")
        except OSError:
            continue  # it has just ended
        fields = tail.split()
        found[int(entry.name)] = head.partition("(")[2], int(fields[11]) + int(fields[12])
    return found


def sample(seconds=SAMPLE_SECONDS, proc=PROC, sleep=time.sleep):
    """Looks for so long. Short-lived processes are in `busy`, though no name is known of them."""
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
