# SPDX-License-Identifier: Apache-2.0
"""bench/experiments/ycsb_b.py: runs YCSB's workload B on HatKV, with the paper's protocols and with hints."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent.parent / "kv"))

from ycsb import compare  # noqa: E402

EXPERIMENT = compare.make("ycsb-b", "b", 16, {"read": .475, "update": .025, "multiread": .475,
                                              "multiupdate": .025})
