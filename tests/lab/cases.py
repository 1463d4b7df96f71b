# SPDX-License-Identifier: Apache-2.0
"""tests/lab/cases.py: runs the cases of a test in the lab, with output in GoogleTest's format."""

import sys
import time
import traceback


def run_cases(suite, cases):
    """Runs each function in `cases`, and exits: with status 0 if none raised an exception, otherwise with 1."""
    failed = []
    for case in cases:
        began = time.monotonic()
        try:
            case()
            verdict = "       OK "
        except Exception:  # printed as a failed case
            traceback.print_exc()
            failed.append(case)
            verdict = "  FAILED  "
        took = int((time.monotonic() - began) * 1000)
        print(f"[{verdict}] {suite}.{case.__name__} ({took} ms)", flush=True)
    print(f"[==========] {len(cases)} cases of {suite} ran.")
    if not failed:
        print(f"[  PASSED  ] {len(cases)} cases.")
    sys.exit(1 if failed else 0)
