/**
 * Chains of Amsterdam with the access lists of their blocks, the same on every machine: transactions that have nothing
 * to do with each other, and others of which each needs what the one before it left.
 */
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { concatBytes, padLeft, toMinimalBytes } from '../../src/primitives/bytes.js'
import {
  ListedChain,
  listedChainId,
  makeSenders,
  type Sender,
  signTransaction,
  withListRlp,
} from '../../test/ingest/listedChain.js'
import { assemble, type Item } from '../../test/unit/evm/assembly.js'
import { makeOnce } from './benchData.js'
import type { ListedKind } from './listedKinds.js'

/** Raised with every change of what is generated: it is part of the name of a cached chain. */
const listedChainsVersion = 2

const senderCount = 400
/** So many that starting threads and compiling for them, 1 to 2 s of CPU, is a small part. */
const listedBlocks = 120

const token = padLeft(Uint8Array.of(0xc1), 20)
const work = padLeft(Uint8Array.of(0xc2), 20)
const workInRow = padLeft(Uint8Array.of(0xc3), 20)
const reads = padLeft(Uint8Array.of(0xc4), 20)

const input = Uint8Array.of(0x35)
/** Puts the slot of memory[0] on the stack. */
const slot: readonly Item[] = [64, 0, 'KECCAK256']
/** Takes one from the caller and gives it to the account of the input. */
const tokenCode = assemble(
  ...['CALLER' as const, 0, 'MSTORE' as const, ...slot, 'DUP1' as const, 'SLOAD' as const],
  ...[1, 'SWAP1' as const, 'SUB' as const, 'SWAP1' as const, 'SSTORE' as const],
  ...[0, input, 0, 'MSTORE' as const, ...slot, 'DUP1' as const, 'SLOAD' as const],
  ...[1, 'ADD' as const, 'SWAP1' as const, 'SSTORE' as const, 32, 0, 'LOG0' as const, 'STOP' as const],
)

/** Hashes as often as the input says, from what is in memory, and stores the last hash in the slot `key`. */
function workCode(before: readonly Item[], each: readonly Item[], key: readonly Item[]): Uint8Array {
  const start = concatBytes(assemble(...before), assemble(0), input)
  return concatBytes(
    start,
    assemble('JUMPDEST', ...slot, 'DUP1', 32, 'MSTORE', ...each),
    assemble(1, 'SWAP1', 'SUB', 'DUP1', start.length, 'JUMPI', 32, 'MLOAD', ...key, 'SSTORE', 'STOP'),
  )
}

const contracts: readonly (readonly [address: Uint8Array, code: Uint8Array])[] = [
  [token, tokenCode],
  [work, workCode(['CALLER', 0, 'MSTORE'], ['POP'], ['CALLER'])],
  [workInRow, workCode([0, 'SLOAD', 0, 'MSTORE'], ['POP'], [0])],
  [reads, workCode(['CALLER', 0, 'MSTORE'], ['SLOAD', 'POP'], ['CALLER'])],
]

/** Receiver, input and gas of a transaction of a kind, and how many a block has. */
const plans: Readonly<
  Record<
    ListedKind,
    { to: (at: number) => Uint8Array; data: (at: number) => Uint8Array; gas: number; count: number }
  >
> = {
  transfers: { to: addressOf, data: () => new Uint8Array(0), gas: 21_000, count: 300 },
  tokens: { to: () => token, data: (at) => padLeft(addressOf(at), 32), gas: 400_000, count: 120 },
  'tokens in a row': { to: () => token, data: () => padLeft(addressOf(0), 32), gas: 400_000, count: 120 },
  hashes: { to: () => work, data: () => word(2_000), gas: 500_000, count: 100 },
  'hashes in a row': { to: () => workInRow, data: () => word(2_000), gas: 500_000, count: 100 },
  slots: { to: () => reads, data: () => word(60), gas: 400_000, count: 120 },
}

function word(value: number): Uint8Array {
  return padLeft(toMinimalBytes(value), 32)
}

/** One that sends nothing. */
function addressOf(at: number): Uint8Array {
  return concatBytes(Uint8Array.of(0xad), padLeft(toMinimalBytes(at + 1), 19))
}

/** Paths of a genesis and a chain file, made once. */
export async function listedChain(kind: ListedKind): Promise<{ genesisPath: string; chainPath: string }> {
  const name = `listed-${kind.replaceAll(' ', '-')}-${listedBlocks}-${listedChainsVersion}`
  const what = `making a chain of ${listedBlocks} blocks with access lists: ${kind}`
  const folder = await makeOnce(name, what, async (folder) => {
    const file = openSync(join(folder, 'chain.rlp'), 'w')
    writeFileSync(
      join(folder, 'genesis.json'),
      writeChain(kind, (rlp) => writeSync(file, rlp)),
    )
    closeSync(file)
  })
  return { genesisPath: join(folder, 'genesis.json'), chainPath: join(folder, 'chain.rlp') }
}

function writeChain(kind: ListedKind, take: (rlp: Uint8Array) => void): string {
  const senders = makeSenders(senderCount)
  const alloc = Object.fromEntries(
    contracts.map(([address, code]) => [hex(address), { balance: '0x0', code: hex(code) }]),
  )
  const chain = new ListedChain(alloc, senders)
  const { to, data, gas, count } = plans[kind]
  for (let number = 0; number < listedBlocks; number++) {
    const transactions = Array.from({ length: count }, (_, index) => {
      const at = (number * 7 + index) % senderCount
      const sender = senders[at] as Sender
      const fields = [listedChainId, chain.nonceOf(sender), 10, 1_000_000_000_000].map(toMinimalBytes)
      const call = [
        toMinimalBytes(gas),
        to(at),
        toMinimalBytes(to(at).length > 0 && kind === 'transfers' ? 1 : 0),
      ]
      return signTransaction(2, [...fields, ...call, data(at), []], sender)
    })
    const block = chain.add(transactions)
    if (block.executed.receipts.length < count) throw new Error(`block ${number} of ${kind} is not whole`)
    take(withListRlp(block))
    chain.go(block)
  }
  return chain.genesisText
}

function hex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`
}
