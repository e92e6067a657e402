#!/usr/bin/env bash
# Runs a command with a temporary PostgreSQL cluster:  test/postgres.sh COMMAND [ARGUMENT...]
# TEST_POSTGRES_URL has its address, with a superuser that may create databases. The
# cluster uses a temporary folder (in TMPDIR, if set) and a free loopback port, and is
# deleted when the command ends. If TEST_POSTGRES_URL is set already, the command uses
# that cluster.
set -euo pipefail

if [ $# -eq 0 ]; then
  echo "usage: test/postgres.sh COMMAND [ARGUMENT...]" >&2
  exit 2
fi
if [ -n "${TEST_POSTGRES_URL:-}" ]; then exec "$@"; fi

"$(dirname "${BASH_SOURCE[0]}")/needs.sh" postgres

# bin prints the folder of PostgreSQL's programs: the one in PATH, or the newest of Debian's.
bin() {
  local dir
  if command -v initdb >/dev/null 2>&1; then
    dirname "$(readlink -f "$(command -v initdb)")"
    return
  fi
  for dir in /usr/lib/postgresql/*/bin; do echo "$dir"; done | sort -V | tail -n 1
}
BIN=$(bin)

# PostgreSQL refuses to run as root, so root runs it as another user.
user=$(id -un)
if [ "$(id -u)" -eq 0 ]; then
  user=postgres
  id -u "$user" >/dev/null 2>&1 || user=nobody
fi

# owner runs a command as the user that owns the cluster.
owner() {
  if [ "$(id -un)" = "$user" ]; then
    "$@"
  else
    setpriv "--reuid=$user" "--regid=$(id -gn "$user")" --init-groups -- "$@"
  fi
}

# clear ends the clusters of runs that were killed, and deletes their folders.
clear() {
  local old
  for old in /dev/shm/wardroom-postgres.* "${TMPDIR:-/tmp}"/wardroom-postgres.*; do
    if [ ! -s "$old/owner" ] || ps -o stat= -p "$(cat "$old/owner")" | grep -qv Z; then continue; fi
    if [ -f "$old/data/postmaster.pid" ]; then
      (cd "$old" && owner "$BIN/pg_ctl" stop -D "$old/data" -m immediate -s) || true
    fi
    rm -rf "$old" || true
  done
}

# free prints how many MB are free in a folder.
free() { df -Pm "$1" 2>/dev/null | awk 'NR == 2 { print $4 }'; }

# room prints the folder for the cluster: /dev/shm if root runs the tests and it has
# enough space, because a disk that is busy with other tests delays connections by
# seconds. For other users, the system may empty /dev/shm when they log out.
room() {
  local folder=${TMPDIR:-/tmp}
  if [ -z "${TMPDIR:-}" ] && [ "$(id -u)" -eq 0 ] && [ "$(free /dev/shm)" -ge 4096 ] 2>/dev/null; then folder=/dev/shm; fi
  if [ "$(free "$folder")" -lt 2048 ]; then
    echo "PostgreSQL for the tests needs 2 GB, but $folder has only $(free "$folder") MB free: free some, or set TMPDIR to another folder" >&2
    return 1
  fi
  echo "$folder"
}
clear
folder=$(room)
dir=$(mktemp -d "$folder/wardroom-postgres.XXXXXX")
echo $$ >"$dir/owner"
child=

# shellcheck disable=SC2317 # the traps call it
stop() {
  trap - EXIT INT TERM HUP
  if [ -n "$child" ] && kill -0 "$child" 2>/dev/null; then
    kill -TERM -- "-$child" 2>/dev/null || true
    wait "$child" || true
  fi
  if [ -f "$dir/data/postmaster.pid" ]; then
    owner "$BIN/pg_ctl" stop -D "$dir/data" -m immediate -s || true
  fi
  rm -rf "$dir"
}
trap stop EXIT
trap 'stop; exit 130' INT
trap 'stop; exit 143' TERM HUP

cd "$dir" # initdb fails if its user may not read the current folder
chown "$user" "$dir"
password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
printf '%s\n' "$password" | owner sh -c "umask 077; cat >'$dir/password'"
owner "$BIN/initdb" -D "$dir/data" -U wardroom --pwfile="$dir/password" \
  --auth=password --encoding=UTF8 --locale=C --no-sync >"$dir/initdb.log" 2>&1 ||
  { cat "$dir/initdb.log" >&2; exit 1; }

# Durability is off: the cluster holds only test data.
owner sh -c "cat >>'$dir/data/postgresql.conf'" <<'CONF'
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 500
shared_buffers = 64MB
fsync = off
synchronous_commit = off
full_page_writes = off
autovacuum_naptime = 1h
log_min_messages = log
CONF

# Another process can take a free port at any time, so start tries several.
start() {
  local port
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    port=$((20000 + RANDOM % 12000)) # below the kernel's range of ephemeral ports
    if owner "$BIN/pg_ctl" start -D "$dir/data" -w -t 60 -s -l "$dir/server.log" -o "-p $port" 2>"$dir/pg_ctl.log"; then
      # A busy machine may need ten times as long as Wardroom's own limits allow.
      TEST_POSTGRES_URL="postgres://wardroom:$password@127.0.0.1:$port/postgres?sslmode=disable&connect_timeout=30"
      TEST_POSTGRES_URL+="&lock_timeout=50000&idle_in_transaction_session_timeout=20000"
      export TEST_POSTGRES_URL
      return
    fi
    grep -q "could not bind\|could not create any TCP/IP sockets" "$dir/server.log" || break
  done
  echo "PostgreSQL did not start:" >&2
  cat "$dir/pg_ctl.log" "$dir/server.log" >&2
  return 1
}
start
cd "$OLDPWD"

# The command gets its own process group, so that stop also ends its child processes.
set -m
"$@" </dev/null &
child=$!
set +m
code=0
wait "$child" || code=$?
child=
exit "$code"
