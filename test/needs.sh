#!/usr/bin/env bash
# Checks that what the tests use is on this machine:  test/needs.sh [go] [cc] [node] [postgres] [shell] [chromium]
# Without arguments: all of them. What is missing is installed where that is possible without asking (root on a
# Debian-like system). Elsewhere it says what to install, and fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

missing=()  # Debian packages
wanted=()   # the same, in words, for people on other systems

need() { # need "in words" package...
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

# The headless shell has no window to draw and needs a third less time.
have_chromium() {
  if [ -n "${CHROMIUM:-}" ]; then
    [ -x "$CHROMIUM" ]
  else
    [ -x /usr/bin/chromium-headless-shell ] || [ -x /usr/bin/chromium ]
  fi
}

# Go is not taken from the system's packages: they are years behind.
check_go() {
  local want
  want=$(awk '$1 == "go" { print $2 }' go.mod)
  if ! have go; then
    echo "Go is missing: install Go $want or newer, see https://go.dev/doc/install" >&2
    exit 1
  fi
  # The go command compares go.mod with itself and says so in clear words.
  go list -m >/dev/null
}

check() {
  case $1 in
    go) check_go ;;
    cc) have gcc || have cc || have clang || need "a C compiler (for the race detector)" gcc libc6-dev ;;
    node)
      # Some builds of nodejs bring npm along and refuse the separate package:
      # npm is asked for only when Node is there and npm is not.
      if ! have node; then need "Node.js with npm" nodejs; elif ! have npm; then need "npm" npm; fi
      ;;
    postgres) have_initdb || need "PostgreSQL (initdb, pg_ctl)" postgresql ;;
    chromium) have_chromium || need "Chromium, or its headless shell (or CHROMIUM with its path)" chromium-headless-shell ;;
    shell) have bash && have curl && have jq && have openssl || need "curl, jq and openssl (for what the documents say)" curl jq openssl ;;
    *) echo "needs.sh: $1 is not known" >&2; exit 2 ;;
  esac
}

# install puts packages on a Debian-like system. Installing PostgreSQL there
# would also make a cluster and start it, which nobody asked for.
no_cluster=/etc/postgresql-common/createcluster.d/50-wardroom-tests.conf
install() {
  echo "installing ${missing[*]}" >&2
  trap 'rm -f "$no_cluster"' EXIT
  mkdir -p "${no_cluster%/*}"
  echo "create_main_cluster = false" >"$no_cluster"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >&2
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

all=("$@")
if [ $# -eq 0 ]; then all=(go cc node postgres shell chromium); fi

look() {
  missing=()
  wanted=()
  local one
  for one in "${all[@]}"; do check "$one"; done
  hash -r
  [ ${#missing[@]} -eq 0 ]
}

if look; then exit 0; fi
if [ "$(id -u)" -eq 0 ] && have apt-get; then
  install
  if look; then exit 0; fi
  install # what only the first round could show: npm
  if look; then exit 0; fi
fi
echo "These are missing and could not be installed from here:" >&2
printf '  %s\n' "${wanted[@]}" >&2
echo "On Debian or Ubuntu: sudo apt-get install ${missing[*]}" >&2
exit 1
