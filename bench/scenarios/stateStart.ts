/**
 * The cost of creating a store from a state: time, memory and bytes of the program that loads a dump of ten slots per
 * account. A tenth of the slots are one contract's, the rest are those of every tenth account. The dump is unordered.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { encodeAccount } from '../../src/data/state/account.js'
import { SortedTrie } from '../../src/data/state/sortedTrie.js'
import { bytesToHex, type Hash32 } from '../../src/primitives/bytes.js'
import { emptyCodeHash, keccak256 } from '../../src/primitives/keccak.js'
import { encodeRlp } from '../../src/primitives/rlp.js'
import { writeFirstBlock } from '../../test/ingest/madeState.js'
import { programPath } from '../data/networks.js'
import { accountAddress, amountOf, slotOf } from '../data/syntheticState.js'
import { CpuClock } from '../servers/cpuClock.js'
import { endWithThisProcess, memoryOf, onAllCores } from '../servers/serverProcess.js'
import type { SpecialScenario } from './specialScenario.js'

const slotsPerAccount = 10
/** Limits for a million accounts, on two cores. */
const minutesMax = 10
const peakBytesMax = 1e9
/** Time between two samples of memory, and length of text written at once. */
const lookMs = 200
const textMax = 2 ** 20

export const stateStart: SpecialScenario = {
  name: 'state-start',
  title: 'a store that begins with a state',
  seconds: ({ accounts }) => 10 + accounts / 3_000,
  async run({ folder, settings: { accounts } }) {
    const state = join(folder, 'state.jsonl')
    const { genesis, header } = writeFirstBlock(folder, writeDump(state, accounts))
    const data = join(folder, 'begun')
    const files = ['--genesis', genesis, '--header', header, '--state', state]
    const words = [process.execPath, programPath, 'import', '--data', data, '--network', 'x', ...files]
    const [program = '', ...args] = onAllCores(words)
    const beganMs = performance.now()
    const child = endWithThisProcess(spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] }))
    const pid = child.pid as number
    const clock = new CpuClock(pid)
    let cpuSeconds = 0
    let anonymousBytes = 0
    let peakResidentBytes = 0
    const looking = setInterval(() => {
      const memory = memoryOf(pid)
      cpuSeconds = clock.seconds() ?? cpuSeconds
      // A process that has just ended reports no memory.
      anonymousBytes = Math.max(anonymousBytes, memory.anonymousBytes || 0)
      peakResidentBytes = memory.peakResidentBytes || peakResidentBytes
    }, lookMs)
    const [status] = await once(child, 'exit').finally(() => clearInterval(looking))
    if (status !== 0) throw new Error(`the import ended with ${status}`)
    const minutes = (performance.now() - beganMs) / 60_000
    const slots = accounts * slotsPerAccount
    const bytes = statSync(join(data, 'networks/x/chain.mdb')).size
    return {
      unit: 'slots a second of CPU',
      own: { rate: slots / cpuSeconds, rateSpread: 0, anonymousBytes, peakResidentBytes },
      note:
        `${slots.toLocaleString('en')} slots of ${accounts.toLocaleString('en')} accounts in ${minutes.toFixed(1)} min; ` +
        `memory at most ${(anonymousBytes / 1e6).toFixed(0)} MB, with mapped pages of the store ` +
        `${(peakResidentBytes / 1e6).toFixed(0)} MB; store of ${(bytes / 1e6).toFixed(0)} MB, ` +
        `${(bytes / slots).toFixed(1)} bytes a slot with its share of accounts and tries`,
      missed: [
        ...(minutes > minutesMax ? [`${minutesMax} minutes`] : []),
        ...(anonymousBytes > peakBytesMax ? [`${peakBytesMax / 1e6} MB`] : []),
      ],
    }
  },
}

/** Writes the dump; returns its state root. The root is in the first line, so that is written last. */
function writeDump(path: string, accounts: number): Hash32 {
  const file = openSync(path, 'w')
  const begin = (root: string) => `{"root":"${root}"}\n`
  let text = begin(bytesToHex(emptyCodeHash))
  const write = (more: string) => {
    text += more
    if (text.length < textMax) return
    writeSync(file, text)
    text = ''
  }
  let serial = 0
  const leaves: Leaf[] = []
  for (let index = 0; index < accounts; index++) {
    const address = accountAddress(index)
    const balance = 10n ** 18n + BigInt(index)
    write(`{"address":"${bytesToHex(address)}","balance":"${balance}","nonce":1,"storage":{`)
    const count = index === 0 ? accounts : index % 10 === 0 ? slotsPerAccount * 9 : 0
    const slots = Array.from({ length: count }, (_, at): Leaf => {
      const slot = slotOf(serial)
      const value = amountOf(serial++)
      write(`${at === 0 ? '' : ','}"${bytesToHex(slot)}":"${bytesToHex(value)}"`)
      return [keccak256(slot), encodeRlp(value)]
    })
    write('}}\n')
    const account = { nonce: 1n, balance, codeHash: emptyCodeHash, storageRoot: rootOf(slots) }
    leaves.push([keccak256(address), Uint8Array.from(encodeAccount(account))])
  }
  const root = rootOf(leaves)
  writeSync(file, text)
  writeSync(file, begin(bytesToHex(root)), 0)
  closeSync(file)
  return root
}

type Leaf = readonly [key: Uint8Array, value: Uint8Array]

function rootOf(leaves: readonly Leaf[]): Hash32 {
  const trie = new SortedTrie(() => undefined)
  for (const [key, value] of [...leaves].sort((a, b) => Buffer.compare(a[0], b[0]))) trie.add(key, value)
  return trie.finish()
}
