#!/usr/bin/env bash
# npm run test:long: what takes too long for each change. Run it before you call work done that touches what it tests. It
# prints what it runs, and how each part ended; the output of each part is in the folder that it names. Parts can be
# named: npm run test:long -- random kills.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
logs=$(mktemp -d "${TMPDIR:-/tmp}/tidegate-long-XXXXXX")
echo "Output: $logs"
wanted=("$@")
result=0
tests=dist/modules/test/runTests.js

# part NAME WHAT COMMAND…
part() {
  local name=$1 what=$2 start=$SECONDS
  shift 2
  [[ ${#wanted[@]} -eq 0 || " ${wanted[*]} " == *" $name "* ]] || return 0
  echo "== $name: $what"
  if "$@" >"$logs/$name" 2>&1; then echo "ok, $((SECONDS - start)) s"; else
    result=1
    echo "FAILED after $((SECONDS - start)) s:"
    grep -a '^FAILED' "$logs/$name" | head -n 20
  fi
}

part subjects 'every file, with all subjects of each kind' env RUNS=2 node $tests --all
part packages 'Hardhat, forge, web3.py, starknet.py and the packed program, as they are installed' \
  env HARDHAT=1 FORGE=1 WEB3PY=1 STARKNETPY=1 PACKAGE=1 node $tests \
  test/world/clients/{besideTools,hardhat,forge,web3py,starknetpy}.test.ts \
  test/world/commands/{package,firstHour}.test.ts
part node 'Node.js 22 and 24' test/otherNode.sh 22 24
part random 'random tests, ten times as many cases' env RUNS=10 node $tests test/unit test/world/chains test/server/fuzz
part kills 'processes that are killed twenty times each, every front, a minute of hostile load' \
  env KILLS=20 HOSTILE_SECONDS=60 SEAL_SECONDS=20 SEAL_LANES=8 node $tests test/world/faults test/world/chains/workingSet.test.ts \
  test/world/commands/{develop,developByHand}.test.ts
# Four runs: a file may take half an hour, and a busy machine does about eighty kills in it.
kill_nodes() {
  for _ in 1 2 3 4; do KILLS=50 node $tests test/world/engine/kills.test.ts || return; done
}
part engine 'a node under a consensus client that is killed two hundred times' kill_nodes
part start 'imports of a state that are killed fifty times, and as many fetches of one; every block of chains from there on' \
  env KILLS=50 BLOCKS=all node $tests test/world/faults/killDuringStart.test.ts \
  test/world/commands/startChains.test.ts
part storm 'nodes that lie and reorganise for ten minutes' env STORM_SECONDS=600 node $tests \
  test/world/faults/followerStorm.test.ts test/world/faults/familyStorm.test.ts
exit "$result"
