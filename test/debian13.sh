#!/usr/bin/env bash
# test/debian13.sh COMMAND…: runs a command with Node.js 24 and the C library of Debian 13, the pair of the container, on
# a Debian with an older one: uWebSockets.js for Node.js 24 needs glibc 2.38. The libraries lie over those of the system in
# a mount namespace, so the command needs root, and no other process sees them. They are fetched once, with 130 MB of
# Node.js, from the system's mirror and from npm, into TIDEGATE_DEBIAN13 or the user's cache.
set -euo pipefail
folder=${TIDEGATE_DEBIAN13:-${XDG_CACHE_HOME:-$HOME/.cache}/tidegate-debian13}
libraries=usr/lib/$(uname -m)-linux-gnu
program=node-linux-$(node -p process.arch)

fetch() {
  mkdir -p "$folder"/{lists/partial,cache/archives/partial,root,node}
  local mirror
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' | grep -m1 '/debian/$')
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$folder/sources.list"
  local apt=(apt-get -qq -o "Dir::Etc::SourceList=$folder/sources.list" -o Dir::Etc::SourceParts=-
    -o "Dir::State::Lists=$folder/lists" -o "Dir::Cache=$folder/cache")
  "${apt[@]}" update
  (cd "$folder" && "${apt[@]}" download libc6 libstdc++6 libgcc-s1)
  local package
  for package in "$folder"/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
  npm install --prefix "$folder/node" --no-audit --no-fund --ignore-scripts "$program@24"
  touch "$folder/whole"
}

[ -e "$folder/whole" ] || fetch >&2
export PATH="$folder/node/node_modules/$program/bin:$PATH" FOLDER=$folder LIBRARIES=$libraries
# One mount: the parts of a C library have to change together.
exec unshare -m bash -c 'mount -t overlay overlay -o "lowerdir=$FOLDER/root/$LIBRARIES:/$LIBRARIES" "/$LIBRARIES" && exec "$@"' bash "$@"
