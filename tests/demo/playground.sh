#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/demo/playground.sh up|down: starts or ends two nodes and HatKV, to try them by hand.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/demo/nodes.sh
playground=$PWD/build/playground

all_run() {
  local name
  for name in hatkv host-b host-a; do
    runs "$(cat "$playground/$name.pid" 2>/dev/null)" || return 1
  done
}

up() {
  if all_run; then
    echo "The two nodes and HatKV run already; ./dev down ends them."
  else
    stop_nodes "$playground"  # ends the processes of an earlier run that still run
    rm -rf "$playground"
    if ! start_nodes "$playground"; then
      stop_nodes "$playground"
      exit 1
    fi
  fi
  # shellcheck disable=SC1091
  source "$playground/ports"
  cat <<EOF

Two nodes are up. HatKV listens on port $kv_port; its clients on host-a use port $a_port.

  build/release/bin/kv_client 127.0.0.1 $a_port put color green
  $python tests/demo/kv_client.py build/playground/gen 127.0.0.1 $a_port get color

  export HATKV_ADDRESS=tcp:127.0.0.1:$a_port
  build/release/bin/hatkv load --records 10000
  build/release/bin/hatkv scan user --limit 3 --keys
  build/release/bin/hatkv stats

  export HATRPCD_SOCKET=$playground/host-a/admin.sock
  build/release/bin/hatctl status
  build/release/bin/hatctl routes
  build/release/bin/hatctl top                      # and in another terminal:
  build/release/bin/kv_client 127.0.0.1 $a_port load 30

  \${EDITOR:-vi} build/playground/manifests/hatkv.yaml   # change a hint: the nodes reload it; to preview:
  build/release/bin/hatctl reload --dry-run
  curl -s http://127.0.0.1:$a_admin/metrics | grep HatKV
  http://127.0.0.1:$a_admin/                       # in a browser

Configurations and logs are in build/playground. ./dev down ends the nodes and HatKV.
EOF
}

case ${1:-} in
  up) up ;;
  down)
    if all_run; then ended="The two nodes and HatKV have ended."; else ended="The playground is not running."; fi
    stop_nodes "$playground"
    echo "$ended"
    ;;
  *)
    echo "usage: playground.sh up|down" >&2
    exit 2
    ;;
esac
