#!/usr/bin/env bash
# Installs the agent gateway of package-lock.json, with its Node.js, into a cache folder
# and prints the path of that folder. It takes about 860 MB and is reused.
#   WARDROOM_CACHE   folder for caches (default: wardroom in the user's cache folder)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${WARDROOM_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/wardroom}

say() { echo "gateway: $*" >&2; }

hash() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum; else shasum -a 256; fi
}

# The lock file installs different packages on another platform.
key=$({ uname -sm; cat "$here/package-lock.json"; } | hash | cut -c 1-16)
folder=$cache/gateway-$key

complete() { # complete FOLDER: checks that it has the gateway and that its Node.js runs
  [ -f "$1/node_modules/openclaw/openclaw.mjs" ] &&
    "$1/bin/node" --version >/dev/null 2>&1
}

if complete "$folder"; then
  echo "$folder"
  exit 0
fi

mkdir -p "$cache"
# Only one installation runs at a time. The system releases the lock when the process
# ends for any reason. On systems without flock, the rename below still ensures that the
# folder is complete.
if command -v flock >/dev/null 2>&1; then
  exec 9>"$cache/gateway.lock"
  flock -n 9 || { say "waiting for another installation"; flock 9; }
  if complete "$folder"; then
    echo "$folder"
    exit 0
  fi
fi

"$here/../needs.sh" node >&2
begin=$SECONDS
say "installing into $folder (about 860 MB, this happens once)"
new=$(mktemp -d "$cache/new.XXXXXX")
trap 'rm -rf "$new"' EXIT
cp "$here/package.json" "$here/package-lock.json" "$new/"

# No package scripts run: none are needed, and none are trusted. The loop retries because
# one of the 330 downloads may fail.
for attempt in 1 2 3; do
  if npm ci --prefix "$new" --ignore-scripts --no-audit --no-fund --loglevel=error 9>&- >&2; then break; fi
  if [ "$attempt" = 3 ]; then
    say "npm could not install the gateway"
    exit 1
  fi
  say "npm failed, trying again"
done
# Some versions of npm do not create this link.
mkdir "$new/bin"
for node in "$new"/node_modules/node-{linux,bin}-*/bin/node; do
  if [ -x "$node" ]; then ln -s "..${node#"$new"}" "$new/bin/node"; fi
done
complete "$new" || { say "package.json has no Node.js for $(uname -sm)"; exit 1; }

rm -rf "$folder" # remove an incomplete folder, such as one left by a cleanup of the cache
mv "$new" "$folder" || complete "$folder"
say "installed in $((SECONDS - begin)) s"
echo "$folder"
