#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/lab/twice.sh PROGRAM: runs a GoogleTest program, and runs the tests that failed once more.
#
# In an emulated machine, Soft-RoCE sometimes gives up a work request although the program is correct. Therefore a test
# has failed only if it fails twice.
set -uo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$@" 2>&1 | tee "$log" | sed -u 's/^\[  FAILED  \]/[ ONCE MORE ]/'
status=${PIPESTATUS[0]}
[ "$status" = 0 ] && exit 0

failed=$(sed -nE 's/^\[  FAILED  \] ([^ ,]+).*\([0-9]+ ms\)$/\1/p' "$log" | paste -sd:)
if [ -z "$failed" ]; then
  echo "[  FAILED  ] $1 ended with status $status (0 ms)"
  exit "$status"
fi
"$@" --gtest_filter="$failed"
