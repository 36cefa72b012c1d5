// @shares
/** Rules that hold between the traces of every transaction of two chains. */
import t from 'tap'
import { gasPerBlob } from '../../../src/data/chain/feeMarket.js'
import { includesFork } from '../../../src/data/chain/forks.js'
import type { StateView } from '../../../src/data/state/stateView.js'
import type { ReplayedBlock } from '../../../src/execution/evm/blocks/blockReplay.js'
import { JobWatch } from '../../../src/execution/evm/engine/jobWatch.js'
import { Kernel } from '../../../src/execution/evm/engine/kernel.js'
import type { SignedTransaction } from '../../../src/execution/evm/transactions/signedTransaction.js'
import { type Hash32, hexToBytes, toHash32, trimLeft } from '../../../src/primitives/bytes.js'
import { emptyCodeHash, emptyTrieRoot, keccak256 } from '../../../src/primitives/keccak.js'
import { decodeRlpList } from '../../../src/primitives/rlp.js'
import { tracedChains } from '../../chains/tracedChains.js'
import { emptyState } from '../../library/emptyState.js'
import { someOf } from '../../library/property.js'

interface Frame {
  readonly type: string
  readonly from: string
  readonly to?: string
  readonly value?: string
  readonly gas: string
  readonly gasUsed: string
  readonly error?: string
  readonly calls?: readonly Frame[]
}

interface Account {
  readonly balance?: string
  readonly nonce?: number
  readonly code?: string
  readonly storage?: Readonly<Record<string, string>>
}
type Accounts = Readonly<Record<string, Account>>

const watch = new JobWatch(() => false, { timeMsMax: 600_000, memoryBytesMax: 2 ** 28 })
/** One kernel for all: each has 40 MB, which would mean many garbage collections. */
const kernel = new Kernel()
const noOptions = { diffMode: false, disableCode: false, disableStorage: false, includeEmpty: false }

for (const [name, chain] of tracedChains) {
  t.test(`${name}: calls, changes and states agree`, async (t) => {
    let transactions = 0
    for (const block of someOf([...chain.blocks()], 100)) {
      const calls: Frame[] = chain.trace(block.hash, {
        tracer: 'callTracer',
        onlyTopCall: false,
        withLog: false,
      })
      const flat = chain.trace(block.hash, {
        tracer: 'flatCallTracer',
        convertParityErrors: false,
        includePrecompiles: true,
      })
      const diffs = chain.trace(block.hash, { tracer: 'prestateTracer', ...noOptions, diffMode: true })
      const before: Accounts[] = chain.trace(block.hash, { tracer: 'prestateTracer', ...noOptions })
      const gas = receiptGas(chain.store.readReceipts(block.hash as Hash32))
      for (const [index, transaction] of block.transactions.entries()) {
        transactions++
        const place = `transaction ${index} of block ${block.header.number}`
        const top = calls[index] as Frame
        const used = gas[index] ?? 0n
        if (BigInt(top.gasUsed) !== used) t.fail(`${place}: gas of the outermost call`)
        if (!gasAddsUp(top, true)) t.fail(`${place}: inner calls use more gas than the outer`)
        if (flat[index].length !== countOf(top)) t.fail(`${place}: calls are missing from the list`)
        const flow = flowOf(top, block, transaction, used)
        const change = changesOf(diffs[index])
        for (const address of new Set([...flow.keys(), ...change.keys()])) {
          const [moved = 0n, changed = 0n] = [flow.get(address), change.get(address)]
          if (moved !== changed)
            t.fail(`${place}: ${address} got ${moved}, its balance changed by ${changed}`)
        }
        // As in go-ethereum, the code that such a transaction itself delegates to is not part of it.
        if (transaction.type === 4) continue
        const again = runOn(before[index] as Accounts, block, transaction)
        if (again !== used) t.fail(`${place}: on its prestate it uses ${again} gas, not ${used}`)
      }
    }
    t.ok(transactions > 50, `${transactions} transactions`)
  })

  function runOn(accounts: Accounts, block: ReplayedBlock, transaction: SignedTransaction): bigint {
    kernel.clear()
    const { fork, ancestorHash } = block.context
    kernel.attach(fork, {
      state: stateOf(accounts),
      ancestorHash,
      watch,
    })
    kernel.setBlock(block.context)
    return chain.replays.run(kernel, block, transaction, watch).gasUsed
  }
}

/** Gas of each transaction by its receipt. */
function receiptGas(row: Uint8Array | undefined): bigint[] {
  if (row === undefined) throw new Error('the block has no receipts')
  let before = 0n
  return decodeRlpList(row).map((item) => {
    const fields = item instanceof Uint8Array ? decodeRlpList(typeless(item)) : item
    const sum = BigInt(`0x0${Buffer.from(fields[1] as Uint8Array).toString('hex')}`)
    const own = sum - before
    before = sum
    return own
  })
}

/** A receipt without the byte of its type (EIP-2718). */
function typeless(receipt: Uint8Array): Uint8Array {
  return (receipt[0] as number) < 0xc0 ? receipt.subarray(1) : receipt
}

function gasAddsUp({ gas, gasUsed, calls = [] }: Frame, isTop: boolean): boolean {
  const inner = calls.reduce((sum, call) => sum + BigInt(call.gasUsed), 0n)
  // The outermost call's gas is a receipt's, from which refunds were taken.
  const fits = isTop ? inner <= BigInt(gas) : inner <= BigInt(gasUsed) && BigInt(gasUsed) <= BigInt(gas)
  return fits && calls.every((call) => gasAddsUp(call, false))
}

function countOf({ calls = [] }: Frame): number {
  return calls.reduce((sum, call) => sum + countOf(call), 1)
}

/** Wei that each account gained by calls and fees. */
function flowOf(
  top: Frame,
  { header, context }: ReplayedBlock,
  transaction: SignedTransaction,
  gasUsed: bigint,
): Map<string, bigint> {
  const flow = new Map<string, bigint>()
  const add = (address: string, wei: bigint) => flow.set(address, (flow.get(address) ?? 0n) + wei)
  const follow = ({ type, from, to, value = '0x0', error, calls = [] }: Frame) => {
    if (error !== undefined) return
    if (to !== undefined && !['CALLCODE', 'DELEGATECALL', 'STATICCALL'].includes(type)) {
      add(from, -BigInt(value))
      // A destroyed contract that sends ether to itself burns it.
      if (type !== 'SELFDESTRUCT' || from !== to || includesFork(context.fork, 'cancun'))
        add(to, BigInt(value))
    }
    for (const call of calls) follow(call)
  }
  follow(top)
  const { sender, maxFeePerGas, maxPriorityFeePerGas, blobVersionedHashes = [] } = transaction
  const isLondon = includesFork(context.fork, 'london')
  const tipped = context.baseFee + maxPriorityFeePerGas
  const price = isLondon && tipped < maxFeePerGas ? tipped : maxFeePerGas
  const blobs = BigInt(blobVersionedHashes.length) * gasPerBlob * context.blobBaseFee
  add(hexOf(sender), -gasUsed * price - blobs)
  add(hexOf(header.miner), gasUsed * (price - (isLondon ? context.baseFee : 0n)))
  return flow
}

function changesOf({ pre, post }: { readonly pre: Accounts; readonly post: Accounts }): Map<string, bigint> {
  const changes = new Map<string, bigint>()
  for (const address of new Set([...Object.keys(pre), ...Object.keys(post)])) {
    const before = BigInt(pre[address]?.balance ?? 0)
    // A removed account is in `pre` alone; an account with unchanged balance has none in `post`.
    const after = post[address] === undefined ? 0n : BigInt(post[address].balance ?? before)
    changes.set(address, after - before)
  }
  return changes
}

/** A state of these accounts alone. */
function stateOf(accounts: Accounts): StateView {
  const codes = new Map<string, Uint8Array>()
  const of = (address: Uint8Array) => accounts[hexOf(address)]
  for (const { code } of Object.values(accounts)) {
    if (code !== undefined) codes.set(hexOf(keccak256(bytesOf(code))), bytesOf(code))
  }
  return {
    stateRoot: emptyTrieRoot,
    account(address) {
      const found = of(address)
      if (found === undefined) return undefined
      const { balance = '0x0', nonce = 0, code, storage = {} } = found
      return {
        balance: BigInt(balance),
        nonce: BigInt(nonce),
        codeHash: code === undefined ? emptyCodeHash : toHash32(keccak256(bytesOf(code))),
        storageRoot: Object.keys(storage).length === 0 ? emptyTrieRoot : keccak256(address),
      }
    },
    slot(address, slot) {
      const value = of(address)?.storage?.[hexOf(slot)]
      const bytes = value === undefined ? new Uint8Array(0) : trimLeft(bytesOf(value))
      return bytes.length === 0 ? undefined : bytes
    },
    slotsOf: () => [],
    code: (hash) => codes.get(hexOf(hash)),
    tries: emptyState.tries,
    hasRows: false,
  }
}

function hexOf(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`
}

function bytesOf(hex: string): Uint8Array {
  return hexToBytes(hex.slice(2))
}
