# SPDX-License-Identifier: Apache-2.0
# tests/package/operating.sh: tests the work of an operator: client libraries, reload, watchdog, systemd's sockets,
# TLS. inside.sh sources this file. host-a is the package's systemd unit; host-b and HatKV run on the same machine.
packages=(hatrpcd libhatrpc-client libhatrpc-client-dev libhatrpc-rdma libhatrpc-rdma-dev python3-hatrpc hatkv)
export HATKV_ADDRESS=tcp:127.0.0.1:9090  # host-a's endpoint
configuration=/etc/hatrpc/hatrpcd.yaml
drop_ins=/run/systemd/system/hatrpcd.service.d

# Installs the packages in a folder, even if an installed version is newer.
install_from() {
  apt-get install -y -qq --no-install-recommends --allow-downgrades "$1"/*.deb >$scratch/apt.log 2>&1 </dev/null ||
    fail "$(cat $scratch/apt.log)"
}
calls_work() { [ "$(hatkv get color)" = green ]; }
# Prints the kernel's inode number of the socket that listens at port 9090.
listener() { awk '$2 ~ /:2382$/ && $4 == "0A" {print $10}' /proc/net/tcp; }

drop_in() {
  mkdir -p $drop_ins
  printf '%s\n' "$@" >$drop_ins/test.conf
  systemctl daemon-reload
}

no_drop_in() {
  rm -r $drop_ins
  systemctl daemon-reload
}

installs() {
  step "install"
  remember_what_is_there
  install_from /test/first
  systemctl is-active --quiet hatrpcd
  systemctl is-enabled --quiet hatrpcd
  hatctl ping
  [ "$(hatrpcd --version)" = "hatrpcd $(dpkg-query -W -f '${Version}' hatrpcd)" ]
  [ "$(stat -c %U "/proc/$(main_pid)")" = hatrpcd ]
  [ "$(stat -c '%a %U:%G' /etc/hatrpc/tls)" = "750 root:hatrpcd" ]
  # Only the unit's setting is checked, because a container need not be allowed to raise the limit.
  [ "$(property LimitMEMLOCK)" = infinity ]
  systemd-analyze verify --man=no hatrpcd.service
  systemd-analyze security --no-pager --threshold=20 hatrpcd.service >/dev/null
}

# $1: the security keys of the section `link`.
write_host_b() {
  cat >$scratch/host-b.yaml <<END
node: host-b
manifests: [/usr/share/hatrpc/hatkv.yaml]
link: {listen: "tcp:127.0.0.1:7471", $1}
serves: {HatKV: {upstream: "tcp:127.0.0.1:9091"}}
END
}

write_host_a() {
  cat >$configuration <<END
node: host-a
manifests: [manifests]
link: {$1}
peers: {host-b: {link: "tcp:127.0.0.1:7471"}}
endpoints:
  - {listen: "tcp:127.0.0.1:9090", service: HatKV, peers: [host-b]}
  - {listen: "shm:/run/hatrpcd/kv.ring", service: HatKV, peers: [host-b]}
admin: {listen: "tcp:127.0.0.1:9464", socket: /run/hatrpcd/admin.sock}
END
}

start_host_b() {
  systemd-run --quiet --unit=host-b --property=Type=notify --property=User=hatrpcd \
    hatrpcd --config $scratch/host-b.yaml
}

configures() {
  step "two nodes"
  write_host_b "insecure: true"
  write_host_a "insecure: true"
  systemd-run --quiet --unit=kv hatkv serve --listen tcp:127.0.0.1:9091 --data $scratch/kv
  start_host_b
  cp /usr/share/hatrpc/hatkv.yaml /etc/hatrpc/manifests/
  hatrpcd --check
  systemctl restart hatrpcd
  until_true 30 hatctl status
  hatkv put color green
  calls_work
}

client_libraries_work() {
  step "client libraries"
  [ "$(hatkv get --connect shm:/run/hatrpcd/kv.ring color)" = green ]
  # No process listens at port 9, so the call can only use the ring.
  local preload
  preload=$(dpkg -L libhatrpc-client | grep -- -preload.so)
  [ "$(LD_PRELOAD=$preload HATRPC_RINGS=127.0.0.1:9=/run/hatrpcd/kv.ring \
    hatkv get --connect tcp:127.0.0.1:9 color)" = green ]
  /usr/bin/python3 -c '
import hatrpc
ring = hatrpc.TShmSocket("/run/hatrpcd/kv.ring")
ring.open()
assert ring.isOpen()
ring.close()'
}

reloads() {
  step "reload"
  systemctl reload hatrpcd
  refuses_broken hatrpcd /etc/hatrpc/manifests/hatkv.yaml
  calls_work
  systemctl reload hatrpcd
}

hangs_and_is_started_again() {
  local pid
  pid=$(main_pid)
  kill -STOP "$pid"
  until_true 60 has_other_pid "$pid"
  [ "$(property NRestarts)" = 1 ]
  until_true 30 calls_work
}

is_watched() {
  step "a daemon that hangs is started again"
  drop_in '[Service]' WatchdogSec=2s
  systemctl restart hatrpcd
  hangs_and_is_started_again
  no_drop_in
}

# Runs a command while a client calls in a loop, with a new connection for each call. $1: a pattern of the errors that
# are allowed, such as the error of a call that arrives during a drain. A refused connection (exit status 3) is never
# allowed.
calls_go_on_while() {
  local right=$1
  shift
  rm -f $scratch/stop $scratch/failed
  (
    until [ -e $scratch/stop ]; do
      hatkv get color >/dev/null 2>$scratch/error || grep -qE "$right" $scratch/error ||
        cat $scratch/error >>$scratch/failed
    done
  ) &
  local caller=$!
  "$@"
  touch $scratch/stop
  wait $caller
  if [ -e $scratch/failed ]; then fail "calls failed during '$*': $(sort $scratch/failed | uniq -c)"; fi
}

keeps_its_sockets() {
  step "sockets of systemd"
  # Remove the link's socket from the example unit, because host-a has no link.listen.
  sed '/^ListenStream=0.0.0.0:7471/d' /usr/share/doc/hatrpcd/examples/hatrpcd.socket \
    >/etc/systemd/system/hatrpcd.socket
  systemctl daemon-reload
  systemctl stop hatrpcd
  systemctl enable --quiet --now hatrpcd.socket
  systemctl start hatrpcd
  local before
  before=$(listener)
  [ -n "$before" ]
  calls_go_on_while draining systemctl restart hatrpcd
  calls_go_on_while draining systemctl restart hatrpcd
  [ "$(listener)" = "$before" ]
  calls_work
}

# --- TLS ---

# Installs host-a's certificate and key as docs/install.md does.
install_certificate() {
  install -m 0644 $scratch/tls/host-a.pem $scratch/tls/ca.pem /etc/hatrpc/tls/
  install -m 0400 -o hatrpcd -g hatrpcd $scratch/tls/host-a.key /etc/hatrpc/tls/
}

fingerprint() {
  hatctl --json certs |
    /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["fingerprint"])'
}

has_tls() {
  step "TLS"
  (cd $scratch && source /test/guide/secure.sh >/dev/null)
  chown -R hatrpcd $scratch/tls  # host-b uses its files in this folder
  write_host_b "tls: {certificate: tls/host-b.pem, key: tls/host-b.key, ca: tls/ca.pem}"
  write_host_a "tls: {certificate: tls/host-a.pem, key: tls/host-a.key, ca: tls/ca.pem}"
  systemctl restart host-b hatrpcd
  until_true 30 calls_work
  hatctl status >$scratch/status
  must_fail grep -q insecure $scratch/status

  local before
  before=$(fingerprint)
  hatctl certs make $scratch/tls host-a >/dev/null
  install_certificate
  systemctl reload hatrpcd
  [ "$(fingerprint)" != "$before" ]
  chown root /etc/hatrpc/tls/host-a.key
  must_fail systemctl reload hatrpcd 2>/dev/null
  systemctl status --no-pager hatrpcd | grep -q 'Status: .*refused.*host-a.key.*denied'
  install_certificate
  systemctl reload hatrpcd
  calls_work
}

purges() {
  step "purge"
  # A purge removes everything in /etc/hatrpc, but no files that an administrator has made in other folders.
  systemctl stop host-b kv
  rm /etc/systemd/system/hatrpcd.socket
  local pid
  pid=$(main_pid)
  apt-get purge -y -qq "${packages[@]}" >$scratch/apt.log 2>&1
  has_ended "$pid" || fail "hatrpcd still runs"
  nothing_is_left
}

operating() {
  installs
  configures
  client_libraries_work
  reloads
  is_watched
  has_tls
  make_stubs /usr/share/hatrpc/hatkv.thrift
}
