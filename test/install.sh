#!/usr/bin/env bash
# Installs what `make release` built in the ways of docs/install.md, and signs in to each: binary, image, Debian package.
# Runs as root on a Debian-like system. No container engine is needed: buildah builds the image, and its files run in a
# mount namespace as an engine would run them, read-only and as the image's user. The package is installed in a layer
# over this machine's file system, which stays as it is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
test/needs.sh shell buildah
release=$PWD/bin/release
arch=$(dpkg --print-architecture)
work=$(mktemp -d)
child=

# shellcheck disable=SC2317 # the trap calls it
clean() {
  if [ -n "$child" ]; then kill -- "-$child" 2>/dev/null && wait "$child" || true; fi
  rm -rf "$work"
}
trap clean EXIT

# start runs a service in its own process group, with its output in $work/log.
start() {
  set -m
  "$@" >"$work/log" 2>&1 </dev/null &
  child=$!
  set +m
}

# sign_in creates the owner with the link that the service prints, signs in, and stops the service.
sign_in() {
  local link='' address token
  for _ in $(seq 600); do
    link=$(grep -om1 'http://[^ ]*/setup#[A-Z0-9]*' "$work/log") && break
    kill -0 "$child" && sleep 0.1 || { cat "$work/log"; return 1; }
  done
  address=${link%/setup#*} token=${link#*#}
  curl -fsS "$address/api/v1/auth/setup" --json "{\"token\":\"$token\",\"email\":\"ada@example.com\",\"password\":\"four random words\"}" >/dev/null
  curl -fsS "$address/api/v1/auth/login" --json '{"email":"ada@example.com","password":"four random words"}' | jq -e '.user.role == "owner"' >/dev/null
  curl -fsS "$address/" | grep -q '<div id="root">'
  kill "$child"
  wait "$child"
  child=
  echo "$1: signed in after $SECONDS s"
}

SECONDS=0
mkdir "$work/binary"
tar -xzf "$release"/wardroom_*_linux_"$arch".tar.gz -C "$work/binary" --strip-components=1
echo "JWT_SECRET=$(head -c 48 /dev/urandom | base64 -w 0)" >"$work/binary/.env"
start env -C "$work/binary" PORT=0 ./wardroom serve
sign_in binary

# The Dockerfile's first step downloads Go and the source's dependencies. Here, its result is made from the binary.
SECONDS=0
image=$work/context/root/image
mkdir -p "$image/data" "$image/tmp" "$image/etc/ssl/certs" "$work/data"
cp "$work/binary/wardroom" "$image/"
buildah --storage-driver vfs --root "$work/images" build --quiet --format docker --build-context "build=$work/context" -t wardroom . >/dev/null
container=$(buildah --storage-driver vfs --root "$work/images" from wardroom)
root=$(buildah --storage-driver vfs --root "$work/images" mount "$container")
user=$(buildah --storage-driver vfs --root "$work/images" inspect --format '{{.OCIv1.Config.User}}' "$container")
mkdir "$root/proc"
chown "$user" "$work/data"
echo "$(head -c 48 /dev/urandom | base64 -w 0)" >"$work/jwt"
chmod 644 "$work/jwt"
touch "$root/jwt"
cat >"$work/run" <<END
mount --bind '$root' '$root'
mount --bind '$work/data' '$root/data'
mount --bind '$work/jwt' '$root/jwt'
mount -t tmpfs tmpfs '$root/tmp'
mount -t proc proc '$root/proc'
mount -o remount,bind,ro '$root'
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOST=127.0.0.1 PORT=0 DATA_DIR=/data JWT_SECRET_FILE=/jwt \
  chroot --userspec='$user' --groups= '$root' /wardroom serve
END
start unshare --mount sh -e "$work/run"
sign_in image

SECONDS=0
mkdir "$work/layer"
cat >"$work/run" <<END
mount -t tmpfs tmpfs '$work/layer'
mkdir '$work/layer/upper' '$work/layer/work' '$work/layer/root'
mount -t overlay overlay -o 'lowerdir=/,upperdir=$work/layer/upper,workdir=$work/layer/work' '$work/layer/root'
mount -t proc proc '$work/layer/root/proc'
mount --rbind /dev '$work/layer/root/dev'
cp '$release'/wardroom_*_'$arch'.deb '$work/layer/root/wardroom.deb'
chroot '$work/layer/root' dpkg --install /wardroom.deb
systemd-analyze --root='$work/layer/root' security --offline=true --threshold=20 wardroom.service >/dev/null
exec chroot --userspec=wardroom:wardroom '$work/layer/root' env -C /var/lib/wardroom PORT=0 wardroom serve
END
start unshare --mount sh -e "$work/run"
sign_in "Debian package"
