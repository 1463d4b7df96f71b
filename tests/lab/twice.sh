#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/lab/twice.sh PROGRAM: runs a GoogleTest program; tests that fail are tried once more, alone.
#
# Soft-RoCE in an emulated machine gives a request up now and then ("the other side does not answer"),
# at no fault of who asked. What fails twice has failed.
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
