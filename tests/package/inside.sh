#!/usr/bin/env bash
# tests/package/inside.sh: what package_test.py has systemd run in a clean Debian: the packages are
# installed, hatrpcd carries calls, reloads, is restarted, hangs and is upgraded; then all is purged.
set -Eeuo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
export HATKV_ADDRESS=tcp:127.0.0.1:9090  # host-a's endpoint
packages=(hatrpcd libhatrpc-client libhatrpc-client-dev python3-hatrpc hatkv)
scratch=/run/package-test
mkdir -p $scratch

step() { echo "[$SECONDS s] $*"; }

fail() {
  echo "FAILED: $*"
  systemctl status --no-pager --lines=30 hatrpcd hatrpcd.socket host-b kv 2>&1 || true
  exit 1
}
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR

# until_true SECONDS COMMAND...
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS > end)); then return 1; fi
    sleep 0.1
  done
}

# What dpkg, apt and systemd itself keep changes whatever is installed.
files() {
  find / -xdev \( -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \
    -o -path /var/lib/systemd/timers -o -path '/tmp/*' -o -path '/var/tmp/*' -o -path /etc/ld.so.cache \) \
    -prune -o -print | sort
}

install_from() { apt-get install -y -qq --no-install-recommends "$1"/*.deb >$scratch/apt.log 2>&1; }
main_pid() { systemctl show --property MainPID --value hatrpcd; }
has_other_pid() { [ "$(main_pid)" != "$1" ] && systemctl is-active --quiet hatrpcd; }
calls_work() { [ "$(hatkv get color)" = green ]; }
# The kernel's number of the socket that listens at port 9090.
listener() { awk '$2 ~ /:2382$/ && $4 == "0A" {print $10}' /proc/net/tcp; }

# --- Installed, it runs as it is ---

installs() {
  step "install"
  files >$scratch/files.before
  getent passwd | sort >$scratch/users.before
  install_from /test/first
  systemctl is-active hatrpcd
  systemctl is-enabled hatrpcd
  hatctl ping
  [ "$(hatrpcd --version)" = "hatrpcd $(dpkg-query -W -f '${Version}' hatrpcd)" ]
  [ "$(stat -c %U "/proc/$(main_pid)")" = hatrpcd ]
  grep -q 'Max locked memory  *unlimited' "/proc/$(main_pid)/limits"
  systemd-analyze verify --man=no hatrpcd.service
  systemd-analyze security --no-pager --threshold=20 hatrpcd.service >/dev/null
}

# --- Two nodes and a server: host-a is the package's, host-b and HatKV run beside it ---

configures() {
  step "two nodes"
  cat >$scratch/host-b.yaml <<'END'
node: host-b
manifests: [/usr/share/hatrpc/hatkv.yaml]
link: {listen: "tcp:127.0.0.1:7471", insecure: true}
serves: {HatKV: {upstream: "tcp:127.0.0.1:9091"}}
END
  systemd-run --quiet --unit=kv hatkv serve --listen tcp:127.0.0.1:9091 --data $scratch/kv
  systemd-run --quiet --unit=host-b --property=Type=notify --property=User=hatrpcd \
    hatrpcd --config $scratch/host-b.yaml
  cat >/etc/hatrpc/hatrpcd.yaml <<'END'
node: host-a
manifests: [manifests]
link: {insecure: true}
peers: {host-b: {link: "tcp:127.0.0.1:7471"}}
endpoints:
  - {listen: "tcp:127.0.0.1:9090", service: HatKV, peers: [host-b]}
  - {listen: "shm:/run/hatrpcd/kv.ring", service: HatKV, peers: [host-b]}
admin: {listen: "tcp:127.0.0.1:9464", socket: /run/hatrpcd/admin.sock}
END
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
  # Nobody listens at port 9: the ring alone leads somewhere.
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

# --- Reload, restart, hang ---

reloads() {
  step "reload"
  systemctl reload hatrpcd
  local manifest=/etc/hatrpc/manifests/hatkv.yaml
  sed -i 's/perf_goal/perf_gaol/' $manifest
  if systemctl reload hatrpcd 2>/dev/null; then fail "systemctl reload took a broken manifest"; fi
  systemctl is-active --quiet hatrpcd
  # Of hatctl, in the journal; and of hatrpcd, as its state.
  systemctl status --no-pager --lines=50 hatrpcd >$scratch/status || true
  grep -q "hatctl.*reload refused" $scratch/status
  grep -q "Status: .*refused.*hatkv.yaml:.*perf_gaol" $scratch/status
  calls_work
  sed -i 's/perf_gaol/perf_goal/' $manifest
  systemctl reload hatrpcd
}

is_watched() {
  step "a daemon that hangs is started again"
  mkdir -p /run/systemd/system/hatrpcd.service.d
  printf '[Service]\nWatchdogSec=2s\n' >/run/systemd/system/hatrpcd.service.d/quick.conf
  systemctl daemon-reload
  systemctl restart hatrpcd
  local pid
  pid=$(main_pid)
  kill -STOP "$pid"
  until_true 60 has_other_pid "$pid"
  [ "$(systemctl show --property NRestarts --value hatrpcd)" = 1 ]
  until_true 30 calls_work
  rm -r /run/systemd/system/hatrpcd.service.d
  systemctl daemon-reload
}

# Each call has a connection of its own. One that is taken before a drain and called in it is told so;
# nobody is refused a connection (exit status 3).
calls_go_on_while() {
  rm -f $scratch/stop $scratch/failed
  (
    until [ -e $scratch/stop ]; do
      hatkv get color >/dev/null 2>$scratch/error || grep -q draining $scratch/error ||
        cat $scratch/error >>$scratch/failed
    done
  ) &
  "$@"
  touch $scratch/stop
  wait
  if [ -e $scratch/failed ]; then fail "calls failed during '$*': $(sort $scratch/failed | uniq -c)"; fi
}

keeps_its_sockets() {
  step "sockets of systemd"
  # host-a has no link.listen.
  sed '/^ListenStream=0.0.0.0:7471/d' /usr/share/doc/hatrpcd/examples/hatrpcd.socket \
    >/etc/systemd/system/hatrpcd.socket
  systemctl daemon-reload
  systemctl stop hatrpcd
  systemctl enable --quiet --now hatrpcd.socket
  systemctl start hatrpcd
  local before
  before=$(listener)
  [ -n "$before" ]
  calls_go_on_while systemctl restart hatrpcd
  calls_go_on_while systemctl restart hatrpcd
  [ "$(listener)" = "$before" ]
  calls_work
}

# --- Upgraded, then gone ---

upgrades() {
  step "upgrade"
  local pid before
  pid=$(main_pid)
  before=$(listener)
  calls_go_on_while install_from /test/later
  dpkg-query -W -f '${Version}\n' "${packages[@]}" | grep -vq '+later$' && fail "not all are upgraded"
  has_other_pid "$pid"
  grep -q '^node: host-a' /etc/hatrpc/hatrpcd.yaml
  [ "$(listener)" = "$before" ]
  until_true 30 calls_work
}

purges() {
  step "purge"
  # What an administrator has made is the administrator's.
  systemctl disable --quiet --now hatrpcd.socket
  systemctl stop host-b kv
  rm /etc/systemd/system/hatrpcd.socket /etc/hatrpc/manifests/hatkv.yaml
  local pid
  pid=$(main_pid)
  apt-get purge -y -qq "${packages[@]}" >$scratch/apt.log 2>&1
  if [ -e "/proc/$pid/exe" ]; then fail "hatrpcd still runs"; fi
  if [ -e /run/hatrpcd ]; then fail "/run/hatrpcd is left"; fi
  files >$scratch/files.after
  diff $scratch/files.before $scratch/files.after || fail "files are left, or others gone"
  # The user stays, so that its number is nobody else's; it cannot log in.
  getent passwd | sort >$scratch/users.after
  [ "$(comm -13 $scratch/users.before $scratch/users.after | cut -d: -f1,7)" = hatrpcd:/usr/sbin/nologin ]
  grep -q '^hatrpcd:!' /etc/shadow
}

installs
configures
client_libraries_work
reloads
is_watched
keeps_its_sockets
upgrades
purges
step "done"
