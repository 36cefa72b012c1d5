#!/usr/bin/env bash
# test/otherNode.sh VERSION…: runs under other versions of Node.js what may differ there: binaries, WebAssembly, threads,
# sockets, and the program as a whole; a few files of each, since our own code is the same under each version. The version
# "container" is the Node.js and the C library of Debian 13; it is skipped where test/debian13.sh cannot run. All versions
# at once, because a run of so few files waits more than it works, each in a folder of its own, where tests make theirs.
# Random cases are the same for all, so that a tenth of them will do. Prints the output of the test runner, and ends with 1
# where a version cannot be had or fails.
set -uo pipefail
package=$(cd "$(dirname "$0")/.." && pwd)
unit=test/unit
differing=(
  # LMDB, secp256k1 and other binaries; WebAssembly
  "$unit"/data/store/{chainWriter,delayedCommits,packedReceipts,writeBuffer}.test.ts
  test/world/data/store/{lmdbFile,openStore}.test.ts
  "$unit"/execution/kernel/{arithmetic,differential,keccak,trace}.test.ts "$unit"/execution/evm/ecrecover.test.ts
  "$unit"/primitives
  # threads and what they share
  "$unit"/serving/pool
  # sockets
  test/server/serving/transport/{http,httpBodies,pipelining,upgrade,websocket}.test.ts
  test/world/serving/transport/{httpEnds,websocketEnds}.test.ts
  # the program
  test/server/rpc/eth_{getProof,subscribe}.test.ts
)
folders=$(mktemp -d)
trap 'rm -rf "$folders"' EXIT
result=0

run() {
  local version=$1 node
  if [ "$version" = container ]; then
    node=$package/test/debian13.sh
    set -- node
    "$node" "$@" --version >"$folders/fetch$version" 2>&1 || {
      cat "$folders/fetch$version"
      echo "# skipped: Debian 13 cannot be had here"
      return 0
    }
  else
    shift
    node=$(npx -y "node@$version" -p process.execPath 2>"$folders/fetch$version") || {
      cat "$folders/fetch$version"
      echo "not ok - Node.js $version cannot be had"
      return 1
    }
  fi
  mkdir "$folders/$version" && cd "$folders/$version" || return 1
  # What one process compiled, the others of its version load.
  NODE_COMPILE_CACHE=$folders/compiled RUNS=${RUNS:-0.1} "$node" "$@" "$package/dist/modules/test/runTests.js" "${differing[@]}"
}

for version in "$@"; do
  run "$version" >"$folders/log$version" 2>&1 &
  running+=($!)
done
for version in "$@"; do
  wait "${running[0]}" || result=1
  running=("${running[@]:1}")
  echo "# Node.js $version"
  cat "$folders/log$version"
done
exit "$result"
