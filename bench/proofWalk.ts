/**
 * The work of one `eth_getProof` of an account with 3 slots, in this process and without transport: a state of a
 * million accounts in an LMDB store of its own, accounts and slots never asked before.
 *
 *   npm run -s build && node dist/bench/proofWalk.js [--accounts 1000000] [--slots 10000] [--proofs 20000]
 *
 * Building the state takes about a minute for each million accounts.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import {
  concatBytes,
  type Hash32,
  padLeft,
  toAddress,
  toHash32,
  toMinimalBytes,
} from '../src/primitives/bytes.js'
import { emptyCodeHash, emptyTrieRoot, keccak256 } from '../src/primitives/keccak.js'
import { encodeRlp } from '../src/primitives/rlp.js'
import { encodeAccount } from '../src/state/account.js'
import { computeMappingSlots } from '../src/state/mappingSlots.js'
import { buildProofJson } from '../src/state/proof.js'
import { type TrieChange, updateTrie } from '../src/state/trie.js'
import { openEnvironment, openTable } from '../src/store/environment.js'

const { values: options } = parseArgs({
  options: {
    accounts: { type: 'string', default: '1000000' },
    slots: { type: 'string', default: '10000' },
    proofs: { type: 'string', default: '20000' },
  },
})
const accounts = Number(options.accounts)
const slots = Number(options.slots)
const proofs = Number(options.proofs)

/** Accounts written in one update; more take more memory, fewer write upper nodes more often. */
const accountsPerUpdate = 100_000

const addressOf = (i: number) => toAddress(padLeft(toMinimalBytes(i + 1), 20))
const slotOf = (i: number) => toHash32(padLeft(toMinimalBytes(i), 32))

const folder = mkdtempSync(join(tmpdir(), 'tidegate-proofs-'))
try {
  await run()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function run(): Promise<void> {
  const environment = openEnvironment({ path: join(folder, 'nodes.mdb'), readOnly: false })
  const nodes = openTable(environment, 'nodes')
  if (nodes === undefined) throw new Error('no table')
  const readNode = (hash: Uint8Array) => nodes.getBinary(hash)
  const update = (root: Hash32, changes: readonly TrieChange[]) =>
    environment.transactionSync(() =>
      updateTrie(root, changes, readNode, (hash, rlp) => nodes.putSync(hash, rlp)),
    )

  const started = performance.now()
  const storageRoot = update(
    emptyTrieRoot,
    Array.from({ length: slots }, (_, i) => [keccak256(slotOf(i)), encodeRlp(toMinimalBytes(i + 1))]),
  )
  let stateRoot: Hash32 = emptyTrieRoot
  for (let start = 0; start < accounts; start += accountsPerUpdate) {
    const changes: TrieChange[] = []
    for (let i = start; i < Math.min(accounts, start + accountsPerUpdate); i++) {
      const account = {
        nonce: BigInt(i),
        balance: 10n ** 18n + BigInt(i),
        storageRoot,
        codeHash: emptyCodeHash,
      }
      changes.push([keccak256(addressOf(i)), encodeAccount(account)])
    }
    stateRoot = update(stateRoot, changes)
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  console.log(`${accounts} accounts, each with the same ${slots} slots, built in ${seconds} s`)

  // A stride that is coprime with the numbers of accounts and slots, so that nothing is asked twice.
  const request = (i: number, keys: number) => ({
    stateRoot,
    address: addressOf((i * 7_919) % accounts),
    keys: Array.from({ length: keys }, (_, at) => ({
      slot: slotOf((i * 104_729 + at * 3_571) % slots),
      writtenBytes: 32,
    })),
  })
  for (const [keys, count] of [
    [0, proofs],
    [3, proofs],
    [100, Math.ceil(proofs / 50)],
    [1_024, Math.ceil(proofs / 500)],
  ] as const) {
    for (let i = 0; i < count / 10; i++) buildProofJson(readNode, request(i, keys))
    let bytes = 0
    const cpuBefore = process.cpuUsage()
    const times = Array.from({ length: count }, (_, i) => {
      const asked = request(count + i, keys)
      const before = performance.now()
      bytes += buildProofJson(readNode, asked).length
      return (performance.now() - before) * 1000
    }).sort((a, b) => a - b)
    const { user, system } = process.cpuUsage(cpuBefore)
    const cpu = ((user + system) / count).toFixed(0)
    const at = (part: number) => (times[Math.floor(times.length * part)] ?? 0).toFixed(0)
    console.log(
      `proof of ${keys} slots: ${cpu} µs of CPU, median ${at(0.5)} µs, p99 ${at(0.99)} µs, ${Math.round(bytes / count)} bytes`,
    )
  }
  await environment.close()

  for (const count of [1, 64, 1_000, 10_000]) {
    const keys = Array.from({ length: count }, (_, i) => [concatBytes(slotOf(i))])
    const rounds = Math.ceil(20_000 / count)
    const before = performance.now()
    for (let i = 0; i < rounds; i++) computeMappingSlots({ slot: slotOf(3), keys })
    const micros = ((performance.now() - before) * 1000) / rounds
    console.log(`${count} mapping slots: ${micros.toFixed(0)} µs`)
  }
}
