# SPDX-License-Identifier: Apache-2.0
# tests/demo/nodes.sh: two nodes on this machine, to be sourced: HatKV beside hatrpcd of host-b, and
# hatrpcd of host-a, which clients connect to. All that they write lies in one folder.
#
#   start_nodes FOLDER    leaves the ports in FOLDER/ports, to be sourced: kv_port, a_port, a_admin …
#   stop_nodes FOLDER     ends what start_nodes started, and waits until it has ended

bin=${HAT_BIN:-$PWD/build/release/bin}
python=/usr/bin/python3  # Debian's, which has Debian's thrift module
free_ports=$(realpath "${BASH_SOURCE[0]%/*}/../../base/free_ports.py")

# start NAME COMMAND...: in the background, its output in NAME.log, its process id in NAME.pid.
start() {
  local name=$1
  shift
  "$@" </dev/null >"$folder/$name.log" 2>&1 &
  echo $! >"$folder/$name.pid"
}

# wait_for NAME COMMAND...: until COMMAND succeeds, as long as NAME runs.
wait_for() {
  local name=$1
  shift
  for _ in $(seq 200); do
    if "$@" >/dev/null 2>&1; then return; fi
    if ! kill -0 "$(cat "$folder/$name.pid")" 2>/dev/null; then break; fi
    sleep 0.05
  done
  echo "$name did not start. $folder/$name.log says:" >&2
  tail -n 20 "$folder/$name.log" >&2
  return 1
}

write_configuration() {
  local kv_port a_port a_admin b_link b_admin
  read -r kv_port a_port a_admin b_link b_admin < <("$free_ports" 5)
  printf '%s=%s\n' kv_port "$kv_port" a_port "$a_port" a_admin "$a_admin" \
    b_link "$b_link" b_admin "$b_admin" >"$folder/ports"
  mkdir -p "$folder/host-a" "$folder/host-b" "$folder/manifests"
  cat >"$folder/host-b/hatrpcd.yaml" <<EOF
# The server's host: takes calls from its peers, and hands them to HatKV.
node: host-b
manifests: [../manifests]
link: {listen: "tcp:127.0.0.1:$b_link", insecure: true}
serves:
  HatKV: {upstream: "tcp:127.0.0.1:$kv_port"}
admin: {listen: "tcp:127.0.0.1:$b_admin", socket: $folder/host-b/admin.sock}
EOF
  cat >"$folder/host-a/hatrpcd.yaml" <<EOF
# The clients' host: offers HatKV at a local address.
node: host-a
manifests: [../manifests]
link: {insecure: true}
peers:
  host-b: {link: "tcp:127.0.0.1:$b_link"}
endpoints:
  - {listen: "tcp:127.0.0.1:$a_port", service: HatKV, peers: [host-b]}
admin: {listen: "tcp:127.0.0.1:$a_admin", socket: $folder/host-a/admin.sock}
EOF
}

# The stock compiler's stubs for the Python client, from the IDL without its hints.
write_python_stubs() {
  mkdir -p "$folder/gen"
  "$bin/hintgen" --strip kv/hatkv.thrift -o "$folder/gen/hatkv.thrift"
  thrift --gen py -out "$folder/gen" "$folder/gen/hatkv.thrift"
}

start_nodes() {
  local node
  folder=$1
  mkdir -p "$folder"
  write_configuration
  write_python_stubs
  cp "$bin/../share/hatrpc/hatkv.yaml" "$folder/manifests/"  # hintgen made it with the build
  # shellcheck disable=SC1091
  source "$folder/ports"
  start hatkv "$bin/hatkv" serve --listen "tcp:127.0.0.1:$kv_port" --data "$folder/data" \
    --backups "$folder/backups"
  wait_for hatkv grep -q 'listening on' "$folder/hatkv.log"
  for node in host-b host-a; do
    "$bin/hatrpcd" --check --quiet --config "$folder/$node/hatrpcd.yaml"
    start "$node" "$bin/hatrpcd" --config "$folder/$node/hatrpcd.yaml"
    wait_for "$node" "$bin/hatctl" --socket "$folder/$node/admin.sock" status
  done
}

# runs PID: and is one of ours; the id may be another process's by now.
runs() {
  grep -qsE "(hatrpcd|hatkv)" "/proc/$1/comm" && [ "$(ps -o stat= -p "$1" | cut -c1)" != Z ]
}

stop_nodes() {
  local name pid
  folder=$1
  for name in host-a host-b hatkv; do
    [ -f "$folder/$name.pid" ] || continue
    pid=$(cat "$folder/$name.pid")
    if runs "$pid"; then
      kill "$pid"
      while runs "$pid"; do sleep 0.05; done
    fi
    rm -f "$folder/$name.pid"
  done
}
