#!/usr/bin/env bash
# Checks that the programs the tests use are installed:
#   test/needs.sh [go] [cc] [node] [postgres] [shell] [chromium] [nginx] [caddy] [buildah]
# Without arguments it checks all that `make test` uses. As root on a Debian-like system it installs missing packages; otherwise
# it lists them and fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

missing=()  # Debian packages
wanted=()   # descriptions of the same, for other systems

need() { # need DESCRIPTION PACKAGE...
  wanted+=("$1")
  missing+=("${@:2}")
}

have() { command -v "$1" >/dev/null 2>&1; }

have_initdb() {
  local dir
  have initdb && return
  for dir in /usr/lib/postgresql/*/bin; do
    if [ -x "$dir/initdb" ]; then return; fi
  done
  return 1
}

# The headless shell draws no window and needs a third less time.
have_chromium() {
  [ -x "${CHROMIUM:-/usr/bin/chromium-headless-shell}" ] || { [ -z "${CHROMIUM:-}" ] && [ -x /usr/bin/chromium ]; }
}

# Go is not installed from the system's packages, which are years behind.
check_go() {
  local want
  want=$(awk '$1 == "go" { print $2 }' go.mod)
  if ! have go; then
    echo "Go is missing: install Go $want or newer, see https://go.dev/doc/install" >&2
    exit 1
  fi
  # The go command reports an error if it is older than go.mod requires.
  go list -m >/dev/null
}

check() {
  case $1 in
    go) check_go ;;
    cc) have gcc || have cc || have clang || need "a C compiler (for the race detector)" gcc libc6-dev ;;
    node)
      # Some nodejs packages include npm and conflict with the npm package, so npm is
      # requested only if Node.js is installed without it.
      if ! have node; then need "Node.js with npm" nodejs; elif ! have npm; then need "npm" npm; fi
      ;;
    postgres) have_initdb || need "PostgreSQL (initdb, pg_ctl)" postgresql ;;
    chromium) have_chromium || need "Chromium or its headless shell (or its path in CHROMIUM)" chromium-headless-shell ;;
    shell) have bash && have curl && have jq && have openssl || need "curl, jq and openssl (for the commands in the documents)" curl jq openssl ;;
    nginx) PATH=$PATH:/usr/sbin have nginx || need "nginx" nginx ;;
    buildah) have buildah || need "buildah" buildah ;;
    caddy) have caddy || need "Caddy" caddy ;;
    *) echo "needs.sh: unknown argument: $1" >&2; exit 2 ;;
  esac
}

# install installs the missing packages on a Debian-like system. Without these two files, the packages of
# PostgreSQL, nginx, and Caddy would also create a cluster and start servers, which the tests do not need.
no_cluster=/etc/postgresql-common/createcluster.d/50-wardroom-tests.conf
no_servers=/usr/sbin/policy-rc.d
install() {
  echo "installing ${missing[*]}" >&2
  trap 'rm -f "$no_cluster"' EXIT
  if [ ! -e "$no_servers" ]; then
    trap 'rm -f "$no_cluster" "$no_servers"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$no_servers"
    chmod +x "$no_servers"
  fi
  mkdir -p "${no_cluster%/*}"
  echo "create_main_cluster = false" >"$no_cluster"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >&2
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

all=("$@")
if [ $# -eq 0 ]; then all=(go cc node postgres shell chromium); fi

# check_all fills missing and wanted, and succeeds if nothing is missing.
check_all() {
  missing=()
  wanted=()
  local one
  for one in "${all[@]}"; do check "$one"; done
  hash -r
  [ ${#missing[@]} -eq 0 ]
}

for round in 1 2 3; do # the second round installs npm if nodejs came without it
  if check_all; then exit 0; fi
  if [ "$(id -u)" -ne 0 ] || [ $round = 3 ] || ! have apt-get; then break; fi
  install
done
echo "Missing programs that this script cannot install:" >&2
printf '  %s\n' "${wanted[@]}" >&2
echo "On Debian or Ubuntu: sudo apt-get install ${missing[*]}" >&2
exit 1
