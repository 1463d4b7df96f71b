# SPDX-License-Identifier: Apache-2.0
# tests/package/first_steps.sh: installs the packages and makes a call through two nodes, with the commands of
# docs/install.md. /test/guide has the code blocks of that page. inside.sh sources this file.
#
# host-a is the machine itself. host-b runs the same systemd unit, with its own network namespace, /etc/hatrpc and
# /run/hatrpcd.

# Replaces the command `editor` of docs/install.md: writes the node's configuration, which is on that page.
editor() { cat "/test/guide/$node.yaml" >"$1"; }

makes_host_b() {
  ip netns add host-b
  ip link add to-b type veth peer name to-a netns host-b
  ip address add 10.0.0.1/24 dev to-b
  ip -n host-b address add 10.0.0.2/24 dev to-a
  ip link set to-b up
  ip -n host-b link set to-a up
  ip -n host-b link set lo up

  mkdir -p $scratch/host-b/manifests /run/systemd/system/host-b.service.d
  node=host-b editor $scratch/host-b/hatrpcd.yaml
  hintgen $scratch/calculator.thrift -o $scratch/host-b/manifests/calculator.yaml
  cp /lib/systemd/system/hatrpcd.service /run/systemd/system/host-b.service
  cat >/run/systemd/system/host-b.service.d/elsewhere.conf <<END
[Service]
NetworkNamespacePath=/run/netns/host-b
RuntimeDirectory=
RuntimeDirectory=host-b
BindPaths=/run/host-b:/run/hatrpcd
BindReadOnlyPaths=$scratch/host-b:/etc/hatrpc
END
  systemctl daemon-reload
  systemd-run --quiet --unit=calculator --property=NetworkNamespacePath=/run/netns/host-b \
    /usr/bin/python3 /test/calculator.py $scratch/gen serve
  systemctl start host-b
}

calculates() { [ "$(/usr/bin/python3 /test/calculator.py $scratch/gen add 2 3)" = 5 ]; }

first_steps() {
  step "first steps: install, two files, start"
  remember_what_is_there
  cp /test/first/hatrpcd_*.deb /test/guide/calculator.thrift $scratch
  (
    cd $scratch
    node=host-a
    source /test/guide/install.sh
  ) >$scratch/apt.log 2>&1 </dev/null || fail "$(cat $scratch/apt.log)"
  systemctl is-active --quiet hatrpcd
  systemctl is-enabled --quiet hatrpcd

  step "first steps: calls through two nodes"
  make_stubs $scratch/calculator.thrift
  makes_host_b
  until_true 30 calculates
  [ "$(ip netns exec host-b hatctl --socket /run/host-b/admin.sock metrics |
    grep -c '^hatrpc_requests_total{side="server",thrift_method="add",.*outcome="success"} [1-9]')" -gt 0 ]

  step "first steps: a mistake in a manifest"
  refuses_broken hatrpcd /etc/hatrpc/manifests/calculator.yaml
  refuses_broken host-b $scratch/host-b/manifests/calculator.yaml
  calculates
  systemctl reload hatrpcd
  systemctl reload host-b
  calculates

  step "first steps: purge"
  systemctl stop host-b calculator
  rm -r /run/systemd/system/host-b.service*
  local pid
  pid=$(main_pid)
  apt purge -y hatrpcd >$scratch/apt.log 2>&1 </dev/null
  has_ended "$pid" || fail "hatrpcd still runs"
  nothing_is_left
}
