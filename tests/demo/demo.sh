#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/demo/demo.sh: shows in a minute what hatrpc does: unmodified clients call through two daemons,
# hints change while calls run, and metrics count the calls. The script fails if a step fails, and
# ends all processes that it started.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/demo/nodes.sh

demo=$(mktemp -d /tmp/hatrpc-demo.XXXXXX)
load_pids=()
clean_up() {
  local pid
  for pid in "${load_pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  stop_nodes "$demo"
  rm -rf "$demo"
}
trap clean_up EXIT

say() { printf '\n%s\n' "--- $*"; }
show() {
  printf '$'
  printf ' %q' "$@"
  printf '\n'
  "$@"
}
cpp() { show "$bin/kv_client" "$@"; }
py() { show $python tests/demo/kv_client.py "$demo/gen" "$@"; }
hatkv() {
  printf '$ hatkv %s\n' "$*"
  HATKV_ADDRESS="tcp:127.0.0.1:$a_port" "$bin/hatkv" "$@"
}
hatctl() {
  printf '$ hatctl %s\n' "$*"
  "$bin/hatctl" --socket "$demo/host-a/admin.sock" "$@"
}

start_nodes "$demo"
# shellcheck disable=SC1091
source "$demo/ports"

say "Two nodes on this machine: clients -> host-a:$a_port => host-b -> HatKV:$kv_port"
cat "$demo/host-a/hatrpcd.yaml" "$demo/host-b/hatrpcd.yaml"

say "Unmodified clients connect directly to the server"
cpp 127.0.0.1 "$kv_port" put color green
py 127.0.0.1 "$kv_port" get color

say "The same clients call through the daemons: only the port differs"
py 127.0.0.1 "$a_port" put color blue
py 127.0.0.1 "$a_port" get color
cpp 127.0.0.1 "$a_port" put shape round
cpp 127.0.0.1 "$a_port" get shape

say "hatkv's own commands are Thrift clients too, and call through the daemons like any other client"
hatkv load --records 2000 --quiet
hatkv scan user --limit 2 --keys
hatkv stats | grep -E '^\$|records|durability|commits|writes'
hatkv backup demo

say "The plan of each function, and the reason: plans follow from the hints in kv/hatkv.thrift"
hatctl routes

say "Both clients call for six seconds; meanwhile a hint changes"
"$bin/kv_client" 127.0.0.1 "$a_port" load 6 >"$demo/cpp.out" &
load_pids+=($!)
$python tests/demo/kv_client.py "$demo/gen" 127.0.0.1 "$a_port" load 6 >"$demo/python.out" &
load_pids+=($!)
sleep 1.5
show sed -i.old 's/perf_goal: latency/perf_goal: res_util/' "$demo/manifests/hatkv.yaml"
rm "$demo/manifests/hatkv.yaml.old"
hatctl reload
hatctl routes HatKV.get
sleep 1
hatctl top --once

say "No call failed during the change"
for pid in "${load_pids[@]}"; do wait "$pid"; done
load_pids=()
cat "$demo/cpp.out" "$demo/python.out"

say "The metrics of get, as a Prometheus server reads them at http://127.0.0.1:$a_admin/metrics"
hatctl metrics | grep -E '^\$|side="client",thrift_method="get"' |
  grep -E '^\$|_total|_count|_sum|le="(0.000512|0.001024|\+Inf)"'

say "The demo ends HatKV and both daemons"
stop_nodes "$demo"
if pgrep -f "$demo" >/dev/null; then
  echo "demo: a process that uses $demo still runs" >&2
  exit 1
fi
echo "HatKV and both daemons have ended; nothing is left running."
