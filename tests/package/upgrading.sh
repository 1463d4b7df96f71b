# SPDX-License-Identifier: Apache-2.0
# tests/package/upgrading.sh: tests upgrades to a later version, which takes over while callers call, with and without
# socket units of systemd. Also tests the unit after a takeover, and upgrades that cannot take over. inside.sh sources
# this file after operating.sh, which sets up the nodes.
callers=4

# Runs a command while callers make calls. Each caller uses one connection, which it opened before the command began.
connections_stay_while() {
  rm -rf $scratch/callers
  mkdir -p $scratch/callers
  local i
  for ((i = 0; i < callers; ++i)); do
    /usr/bin/python3 /test/caller.py $scratch/gen 9090 $scratch/callers 2>/dev/null &
  done
  until_true 60 all_have_called ''
  "$@"
  cp -r $scratch/callers $scratch/callers-before
  until_true 60 all_have_called $scratch/callers-before || no_error
  no_error
  rm -r $scratch/callers-before
  touch $scratch/callers/stop
  wait
}

no_error() {
  local errors
  errors=$(cat $scratch/callers/error-* 2>/dev/null || true)
  if [ -n "$errors" ]; then fail "calls failed: $errors"; fi
}

# Succeeds if each caller has made calls since its number of calls was copied to the folder $1. If $1 is empty, calls at
# any time count.
all_have_called() {
  local file calls before
  for file in $scratch/callers/calls-*; do
    before=0
    if [ -n "$1" ]; then before=$(cat "$1/${file##*/}"); fi
    calls=$(cat "$file")
    ((10#${calls:-0} > 10#$before)) || return 1
  done
  [ "$(find $scratch/callers -name 'calls-*' | wc -l)" = $callers ]
}

# $1: the folder with the other version of the packages.
takes_over() {
  local pid before since
  pid=$(main_pid)
  since=$(date +%s)
  # No call may fail, on old connections or on new ones.
  connections_stay_while calls_go_on_while 'no error is right' install_from "$1"
  if grep -q 'is restarted' $scratch/apt.log; then fail "$(cat $scratch/apt.log)"; fi
  has_other_pid "$pid"
  [ "/proc/$(main_pid)/exe" -ef /usr/bin/hatrpcd ]
  [ "$(property NRestarts)" = 0 ]
  [ "$(stat -c %U "/proc/$(main_pid)")" = hatrpcd ]
  until_true 60 has_ended "$pid"
  # systemd must have accepted the notifications of the old and the new process, and must show the status of the new.
  journalctl --quiet --no-pager --output=cat --since "@$since" -u hatrpcd >$scratch/journal
  grep -q 'takeover: complete' $scratch/journal
  must_fail grep 'Got notification' $scratch/journal
  until_true 30 grep -q 'routes of generation 1$' <(property StatusText)
  [ "$(hatctl metrics | awk '/^hatrpc_connections_taken_over_total/ {sum += $2} END {print sum + 0}')" -ge $callers ]
}

alive_since() { [ "$(property WatchdogTimestampMonotonic)" -gt "$1" ]; }

is_a_unit_as_ever() {
  step "after a takeover: reload, watchdog, stop"
  systemctl reload hatrpcd
  property StatusText | grep -q 'generation 2$'
  refuses_broken hatrpcd /etc/hatrpc/manifests/hatkv.yaml
  systemctl reload hatrpcd
  until_true 30 alive_since "$(property WatchdogTimestampMonotonic)"
  [ "$(property NRestarts)" = 0 ]
  hangs_and_is_started_again
  no_drop_in
}

stops_whole() {
  local pid
  pid=$(main_pid)
  systemctl restart hatrpcd
  has_ended "$pid"
  calls_work
  pid=$(main_pid)
  systemctl kill --signal=USR2 --kill-whom=main hatrpcd
  until_true 60 has_other_pid "$pid"
  systemctl stop hatrpcd
  [ "$(pgrep_hatrpcd)" = "$(systemctl show --property MainPID --value host-b)" ]
  systemctl start hatrpcd
}

pgrep_hatrpcd() {
  local process
  for process in /proc/[0-9]*; do
    case $(readlink "$process/exe") in /usr/bin/hatrpcd*) echo "${process#/proc/}" ;; esac
  done
}

# Opens an opaque connection, which cannot move to the new process, so that the old process keeps draining.
crashes_while_the_old_one_drains() {
  step "a new one that crashes while the old one drains"
  exec {other}<>/dev/tcp/127.0.0.1/9090
  printf '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' >&"$other"
  until_true 30 carries_bytes
  local old new
  old=$(main_pid)
  systemctl kill --signal=USR2 --kill-whom=main hatrpcd
  until_true 60 has_other_pid "$old"
  new=$(main_pid)
  has_ended "$old" && fail "the old process has ended before its connection"
  kill -KILL "$new"
  until_true 15 has_other_pid "$new" || fail "systemd has not restarted hatrpcd after the new process was killed"
  until_true 15 calls_work
  exec {other}>&-
}

carries_bytes() { [ "$(hatctl metrics | awk '/^hatrpc_connections_open/ {print $2; exit}')" -ge 1 ]; }

# --- If no takeover is possible ---

goes_on_with_the_old_one() {
  step "upgrade with a mistake in the configuration"
  local pid
  pid=$(main_pid)
  sed -i 's/^endpoints:/endpoinds:/' $configuration
  install_from "$1"
  [ "$(main_pid)" = "$pid" ]
  grep -q "hatrpcd.yaml:.*endpoinds" $scratch/apt.log
  grep -q 'hatrpcd: the new version does not take the configuration' $scratch/apt.log
  calls_work
  sed -i 's/^endpoinds:/endpoints:/' $configuration
}

is_restarted() {
  local pid
  pid=$(main_pid)
  install_from "$1"
  has_other_pid "$pid"
  has_ended "$pid"
  grep -q "could not take over from process $pid" $scratch/apt.log
  grep -q 'is restarted, and connections end' $scratch/apt.log
  until_true 30 calls_work
}

# Without admin.socket the new process cannot find the running one.
cannot_be_found() {
  step "upgrade of one that cannot be taken over"
  sed -i 's/^admin: .*/admin: {listen: "tcp:127.0.0.1:9464"}/' $configuration
  systemctl restart hatrpcd
  is_restarted "$1"
}

is_not_killed_by_the_signal() {
  step "upgrade of one that another program runs"
  systemctl disable --quiet --now hatrpcd.socket  # the socket unit would pass its sockets to the shell
  drop_in '[Service]' NotifyAccess=all ExecStart= \
    "ExecStart=/bin/sh -c '/usr/bin/hatrpcd --config $configuration; :'"
  systemctl restart hatrpcd
  is_restarted "$1"
  no_drop_in
  sed -i 's|^admin: .*|admin: {socket: /run/hatrpcd/admin.sock}|' $configuration
  systemctl restart hatrpcd
}

upgrading() {
  step "upgrade"
  drop_in '[Service]' WatchdogSec=2s
  systemctl restart hatrpcd
  until_true 30 calls_work
  takes_over /test/later
  [ "$(dpkg-query -W -f '${Version}\n' "${packages[@]}" | grep -c '+later$')" = ${#packages[@]} ]
  grep -q '^node: host-a' $configuration
  is_a_unit_as_ever
  stops_whole
  crashes_while_the_old_one_drains

  keeps_its_sockets
  step "upgrade with sockets of systemd"
  local before
  before=$(listener)
  takes_over /test/first
  [ "$(listener)" = "$before" ]
  calls_go_on_while draining systemctl restart hatrpcd
  [ "$(listener)" = "$before" ]

  goes_on_with_the_old_one /test/later
  cannot_be_found /test/first
  is_not_killed_by_the_signal /test/later
}
