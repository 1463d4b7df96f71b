#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/package/inside.sh: tests the packages in a clean Debian, where systemd runs this script: the first steps of
# docs/install.md and a purge, and then the work of an operator, upgrades and a purge.
set -Eeuo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
scratch=/run/package-test
mkdir -p $scratch

step() { echo "[$SECONDS s] $*"; }

fail() {
  echo "FAILED: $*"
  systemctl status --no-pager --lines=30 hatrpcd hatrpcd.socket host-b kv calculator 2>&1 || true
  exit 1
}
trap 'fail "${BASH_SOURCE[0]}: line $LINENO: $BASH_COMMAND"' ERR

# until_true SECONDS COMMAND...: waits until COMMAND succeeds; fails after SECONDS.
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS > end)); then return 1; fi
    sleep 0.1
  done
}

must_fail() {
  if "$@"; then fail "this command succeeded, and must not: $*"; fi
}

# --- Files after a purge ---

# Lists all files, except the files that dpkg, apt and systemd change at any installation.
files() {
  find / -xdev \( -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \
    -o -path /var/lib/systemd/timers -o -path '/tmp/*' -o -path '/var/tmp/*' -o -path /etc/ld.so.cache \) \
    -prune -o -print | sort
}

remember_what_is_there() {
  files >$scratch/files.before
  if [ ! -e $scratch/users.before ]; then getent passwd | sort >$scratch/users.before; fi
}

nothing_is_left() {
  if [ -e /run/hatrpcd ]; then fail "/run/hatrpcd is left"; fi
  files >$scratch/files.after
  diff $scratch/files.before $scratch/files.after || fail "files are left behind, or other files are gone"
  # The user hatrpcd stays after a purge, so that no other user gets its user id. It cannot log in.
  getent passwd | sort >$scratch/users.after
  [ "$(comm -13 $scratch/users.before $scratch/users.after | cut -d: -f1,7)" = hatrpcd:/usr/sbin/nologin ]
  grep -q '^hatrpcd:!' /etc/shadow
}

# --- The daemon ---

main_pid() { systemctl show --property MainPID --value hatrpcd; }
property() { systemctl show --property "$1" --value hatrpcd; }
has_other_pid() { [ "$(main_pid)" != "$1" ] && systemctl is-active --quiet hatrpcd; }
has_ended() { [ ! -e "/proc/$1/exe" ]; }

# Checks that a mistake in the manifest makes `systemctl reload` fail, and that `systemctl status` shows the mistake,
# in hatctl's message and in hatrpcd's status.
refuses_broken() {
  local unit=$1 manifest=$2
  sed -i 's/perf_goal/perf_gaol/' "$manifest"
  must_fail systemctl reload "$unit" 2>/dev/null
  systemctl is-active --quiet "$unit"
  systemctl status --no-pager --lines=50 "$unit" >$scratch/status || true
  grep -q "hatctl.*reload refused" $scratch/status
  grep -q "Status: .*refused.*${manifest##*/}:[0-9]*:[0-9]*: error: unknown hint 'perf_gaol'" $scratch/status
  sed -i 's/perf_gaol/perf_goal/' "$manifest"
}

# Generates Python code from a Thrift file, which may have hints.
make_stubs() {
  local plain=$scratch/plain/${1##*/}
  mkdir -p $scratch/plain $scratch/gen
  hintgen --strip "$1" >"$plain"
  thrift --gen py -out $scratch/gen "$plain"
}

source /test/first_steps.sh
source /test/operating.sh
source /test/upgrading.sh

first_steps
operating
upgrading
purges
step "done"
