# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/ycsb_a.py: runs YCSB's workload A on HatKV, with the paper's protocols and with hints."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent.parent / "kv"))

from ycsb import compare  # noqa: E402

EXPERIMENT = compare.make("ycsb-a", "a", 15, {"read": .25, "update": .25, "multiread": .25,
                                              "multiupdate": .25})
