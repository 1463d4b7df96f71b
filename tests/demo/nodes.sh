# SPDX-License-Identifier: Apache-2.0
# tests/demo/nodes.sh: shell functions that run HatKV and two nodes on this machine: host-a, to which
# clients connect, and host-b, which serves HatKV. All files are in one folder. To be sourced.
#
#   start_nodes FOLDER    starts HatKV and the nodes; writes the ports as shell variables to FOLDER/ports
#   stop_nodes FOLDER     ends the processes that start_nodes started, and waits until they have ended

bin=${HAT_BIN:-$PWD/build/release/bin}
python=/usr/bin/python3  # Debian's, which has Debian's thrift module
free_ports=$(realpath "${BASH_SOURCE[0]%/*}/../../base/free_ports.py")

# start NAME COMMAND...: runs COMMAND in the background, with its output in $folder/NAME.log and its
# process id in $folder/NAME.pid.
start() {
  local name=$1
  shift
  "$@" </dev/null >"$folder/$name.log" 2>&1 &
  echo $! >"$folder/$name.pid"
}

# wait_for NAME COMMAND...: waits until COMMAND succeeds; fails after 10 s, or if the process NAME ends.
wait_for() {
  local name=$1
  shift
  for _ in $(seq 200); do
    if "$@" >/dev/null 2>&1; then return; fi
    if ! kill -0 "$(cat "$folder/$name.pid")" 2>/dev/null; then break; fi
    sleep 0.05
  done
  echo "$name did not start. The end of $folder/$name.log:" >&2
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
# The server's host: receives calls from its peers, and passes them to HatKV.
node: host-b
manifests: [../manifests]
link: {listen: "tcp:127.0.0.1:$b_link", insecure: true}
serves:
  HatKV: {upstream: "tcp:127.0.0.1:$kv_port"}
admin: {listen: "tcp:127.0.0.1:$b_admin", socket: $folder/host-b/admin.sock}
EOF
  cat >"$folder/host-a/hatrpcd.yaml" <<EOF
# The clients' host: has an endpoint for HatKV at a local address.
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

# Generates the Python client's code with the stock Thrift compiler, from the IDL without its hints.
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
  cp "$bin/../share/hatrpc/hatkv.yaml" "$folder/manifests/"  # the build makes it with hintgen
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

# runs PID: succeeds if the process runs and is hatrpcd or hatkv, because another program can have got the id.
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
