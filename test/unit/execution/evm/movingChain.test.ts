/** Jobs during which the writer moves the chain. Their answer is always of the requested block. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ForkSchedule, parseGenesisConfig } from '../../../../src/data/chain/forks.js'
import type { BlockDiff } from '../../../../src/data/store/blockDiff.js'
import type { ChainReader } from '../../../../src/data/store/chainReader.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import { CallTrials } from '../../../../src/execution/evm/messages/callTrials.js'
import { Execution } from '../../../../src/execution/evm/messages/execution.js'
import type { ExecutionRequest } from '../../../../src/execution/evm/messages/executionRequest.js'
import { bytesToHex, hexToBytes, padLeft } from '../../../../src/primitives/bytes.js'
import { parseBlock } from '../../../../src/sources/ingest/blocks/block.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../../../src/sources/ingest/blocks/importer.js'
import {
  ChainMaker,
  contracts,
  type MadeBlock,
  mergedConfig,
  storeInput,
  testGenesis,
} from '../../../ingest/chainMaker.js'
import { assemble } from './assembly.js'
import { goOn, limits } from './demoExecution.js'

const contract = hexToBytes(contracts.store)

/** Returns slots 1 and 2, which every block sets to the same value; fails if they differ. */
const readBoth = assemble(
  ...([1, 'SLOAD', 0, 'MSTORE', 2, 'SLOAD', 32, 'MSTORE'] as const),
  ...([0, 'MLOAD', 32, 'MLOAD', 'SUB', 'ISZERO', 24, 'JUMPI', 'INVALID', 'JUMPDEST'] as const),
  ...([64, 0, 'RETURN'] as const),
)

/** A contract that sets a slot to a value by its input, and without input returns slots 1 and 2. */
const keeper = padLeft(Uint8Array.of(0xee), 20)
const keepOrRead = assemble(
  ...(['CALLDATASIZE', 'ISZERO', 12, 'JUMPI'] as const),
  ...([hexToBytes('602035'), hexToBytes('5f35'), 'SSTORE', 'STOP', 'JUMPDEST'] as const),
  ...([1, 'SLOAD', 0, 'MSTORE', 2, 'SLOAD', 32, 'MSTORE', 64, 0, 'RETURN'] as const),
)

interface Branches {
  readonly writer: ChainWriter
  /** Two blocks above the genesis on either branch. */
  readonly first: readonly MadeBlock[]
  readonly second: readonly MadeBlock[]
  /** Makes the first `length` blocks of a branch canonical, at once. */
  readonly switchTo: (branch: readonly MadeBlock[], length?: number) => void
}

/** A store that knows both branches, executed; the slots are 11 and 12 on one, 21 and 22 on the other. */
async function makeBranches(t: Test): Promise<Branches> {
  const genesis = testGenesis(mergedConfig(), { difficulty: '0x0' })
  const alloc = {
    ...(genesis as unknown as { readonly alloc: object }).alloc,
    [bytesToHex(keeper)]: { balance: '0x0', code: bytesToHex(keepOrRead) },
  }
  const maker = await ChainMaker.create(testGenesis(mergedConfig(), { difficulty: '0x0', alloc }))
  const branch = (tens: bigint) =>
    maker.extendBy(
      maker.genesis,
      [1n, 2n].map((ones) => ({
        transactions: [contracts.store, bytesToHex(keeper)].flatMap((to) =>
          [1n, 2n].map((slot) => ({ to, data: storeInput(slot, tens * 10n + ones) })),
        ),
      })),
    )
  const first = await branch(1n)
  const second = await branch(2n)
  const writer = ChainWriter.openForWriting({ path: join(t.testdir(), 'chain.mdb'), mapBytes: 2 ** 30 })
  t.teardown(() => writer.close())
  const { identity, blockDiff, schedule } = parseGenesis(maker.genesisText)
  writer.initialize(identity, blockDiff)
  const blockDiffs = new Map<string, BlockDiff>()
  const { apply } = writer
  writer.apply = (forkNumber, applied) => {
    for (const each of applied) blockDiffs.set(bytesToHex(each.hash), each)
    apply.call(writer, forkNumber, applied)
  }
  const importer = new ChainImporter(writer, schedule)
  for (const blocks of [first, second]) {
    for (const { rlp } of blocks) await importer.importBlock(parseBlock(rlp))
    await importer.finish()
  }
  const switchTo = (blocks: readonly MadeBlock[], length = blocks.length) =>
    apply.call(
      writer,
      0,
      blocks.slice(0, length).map(({ hash }) => blockDiffs.get(bytesToHex(hash)) as BlockDiff),
    )
  return { writer, first, second, switchTo }
}

const interruptible: ReadonlySet<string | symbol> = new Set([
  'readSlot',
  'readSlotAt',
  'readTrieRow',
  'readSideTrieRow',
])

/** A store in which `next` follows the next read of a slot, or of a node if slots are read from tries. */
class Interrupted {
  next: (() => void) | undefined
  readonly store: ChainReader

  constructor(store: ChainReader) {
    this.store = new Proxy(store, {
      get: (_, name) => {
        const member: unknown = Reflect.get(store, name)
        if (typeof member !== 'function') return member
        return (...args: unknown[]): unknown => {
          const result: unknown = member.apply(store, args)
          if (!interruptible.has(name)) return result
          const { next } = this
          this.next = undefined
          next?.()
          return result
        }
      },
    })
  }
}

function requestAt({ number, hash }: MadeBlock): ExecutionRequest {
  return {
    block: { number, hash, isPending: false },
    message: { to: contract, value: 0n, data: new Uint8Array(0) },
    gasDefault: 1_000_000n,
    gasMax: 1_000_000n,
    stateOverrides: [{ address: contract, code: readBoth }],
  }
}

const words = (value: number) =>
  bytesToHex(Buffer.concat([1, 2].map(() => padLeft(Uint8Array.of(value), 32))))

t.test('a job answers for its block, whatever the writer does meanwhile', async (t) => {
  const { writer, first, second, switchTo } = await makeBranches(t)
  const [a1, a2, b1] = [first[0], first[1], second[0]] as [MadeBlock, MadeBlock, MadeBlock]
  type Step = () => void
  const cases: readonly [what: string, before: Step, block: MadeBlock, meanwhile: Step, value: number][] = [
    ['the head is replaced', () => switchTo(first), a2, () => switchTo(second), 12],
    ['the head is unwound', () => switchTo(first), a2, () => switchTo(first, 1), 12],
    ['the head gets a child', () => switchTo(first, 1), a1, () => switchTo(first), 11],
    ['an older block is replaced', () => switchTo(first), a1, () => switchTo(second), 11],
    ['an older block becomes the head', () => switchTo(first), a1, () => switchTo(first, 1), 11],
    ['a block beside the chain becomes canonical', () => switchTo(first), b1, () => switchTo(second), 21],
  ]
  const interrupted = new Interrupted(writer)
  for (const [what, before, block, meanwhile, value] of cases) {
    for (const kind of ['call', 'estimate', 'accessList'] as const) {
      before()
      // The block was not read yet, so it must be read.
      const execution = new Execution(interrupted.store, limits)
      interrupted.next = meanwhile
      const outcome = await execution[kind](requestAt(block), goOn)
      t.equal(interrupted.next, undefined, 'the chain has moved')
      if ('returnData' in outcome) t.equal(bytesToHex(outcome.returnData), words(value), what)
      else if ('gas' in outcome) t.ok(outcome.gas > 21_000n, what)
      else t.equal(outcome.failure, undefined, what)
      const again = await execution.call(requestAt(block), goOn)
      t.equal(bytesToHex(again.returnData), words(value), `${what}, and nothing mixed is kept`)
    }
  }
})

t.test('what has been read of a block is not taken for the state of the one that replaces it', async (t) => {
  const { writer, first, second, switchTo } = await makeBranches(t)
  const execution = new Execution(writer, limits)
  for (const [blocks, values] of [
    [first, [11, 12]],
    [second, [21, 22]],
    [first, [11, 12]],
  ] as const) {
    switchTo(blocks)
    for (const [index, value] of values.entries()) {
      const { returnData } = await execution.call(requestAt(blocks[index] as MadeBlock), goOn)
      t.equal(bytesToHex(returnData), words(value))
    }
  }
})

t.test('a call tried on the edge is answered from its own block, or not at all', async (t) => {
  const { writer, first, second, switchTo } = await makeBranches(t)
  const trials = new CallTrials(
    writer,
    new ForkSchedule(parseGenesisConfig(JSON.parse(writer.readIdentity()?.config ?? ''))),
  )
  const owner = { keyId: 'one', ran: () => t.fail('no trial is too long') }
  const tried = ({ number, hash }: MadeBlock) => {
    const { stateOverrides, ...request } = requestAt({ number, hash } as MadeBlock)
    const outcome = trials.call({ ...request, message: { ...request.message, to: keeper } }, owner)
    return outcome && bytesToHex(outcome.returnData)
  }
  const [a1, a2, b1, b2] = [...first, ...second] as [MadeBlock, MadeBlock, MadeBlock, MadeBlock]
  for (const [blocks, value] of [
    [[a1], 11],
    [[a1, a2], 12],
    [[b1, b2], 22],
    [[b1], 21],
    [[a1, a2], 12],
  ] as const) {
    switchTo(blocks)
    const head = blocks.at(-1) as MadeBlock
    t.equal(tried(head), words(value), `the head, ${value}`)
    t.equal(tried(head), words(value), 'from memory')
    for (const other of [a1, a2, b1, b2]) if (other !== head) t.equal(tried(other), undefined)
    t.equal(tried(head), words(value), 'and still')
  }
  // A request may still use the block that was the head at its arrival; its state is that block's.
  switchTo([b1, b2])
  t.equal(tried(a2), words(12))
  t.equal(tried(b2), words(22))
  t.equal(tried(a2), undefined)
})
