# SPDX-License-Identifier: Apache-2.0
# tests/lab/devices.sh: makes a Soft-RoCE device on each end of a veth pair; to be sourced in the virtual machine.
# Packets from 10.77.0.1 to 10.77.0.2 cross the pair, although both addresses belong to this machine.
#
# The pair's MTU allows RoCE's largest packets. netdev_max_backlog is large, because emulated processors empty the
# kernel's receive queue slowly, and a dropped packet makes its RDMA READ start again.
sysctl -qw net.core.netdev_max_backlog=100000
ip link set lo up
ip link add v1 type veth peer name v2
for end in 1 2; do
  sysctl -qw "net.ipv4.conf.v$end.rp_filter=0" "net.ipv4.conf.v$end.accept_local=1"
  ip addr add "10.77.0.$end/24" dev "v$end"
  ip link set "v$end" mtu 4200 up
done
sysctl -qw net.ipv4.conf.all.rp_filter=0
for pair in "1 2" "2 1"; do
  set -- $pair
  ip route add "10.77.0.$2/32" dev "v$1" table "10$1"
  ip rule add pref 10 from "10.77.0.$1" to "10.77.0.$2" iif lo lookup "10$1"
  ip rule add pref 11 oif "v$1" lookup "10$1"
  ip neigh replace "10.77.0.$2" dev "v$1" nud permanent \
    lladdr "$(cat "/sys/class/net/v$2/address")"
done
ip rule add pref 100 lookup local
ip rule del pref 0
for end in 1 2; do rdma link add "rxe$end" type rxe netdev "v$end"; done
