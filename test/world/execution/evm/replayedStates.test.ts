/** Traces of one transaction after the other of a block: the same as of the whole block, without running those before it. */
import t, { type Test } from 'tap'
import { includesFork } from '../../../../src/data/chain/forks.js'
import { ChainReader } from '../../../../src/data/store/chainReader.js'
import { BlockReplays } from '../../../../src/execution/evm/blocks/blockReplay.js'
import type { TraceRequest } from '../../../../src/execution/evm/tracers/traceRequest.js'
import { Tracing } from '../../../../src/execution/evm/tracers/tracing.js'
import type { Hash32 } from '../../../../src/primitives/bytes.js'
import { FaultError } from '../../../../src/primitives/faults.js'
import { withoutAmsterdam } from '../../../ingest/amsterdam.js'
import { fixtureDir } from '../../../service/fixtures.js'
import { storePathOf } from '../../../service/program.js'
import { demoStore, goOn, limits } from '../../../unit/execution/evm/demoExecution.js'

const traceLimits = { ...limits, answerBytesMax: 2 ** 30 }
const off = {
  disableStack: false,
  disableStorage: false,
  enableMemory: false,
  enableReturnData: true,
  limit: 20_000,
}
const prestate = { disableCode: false, disableStorage: false, includeEmpty: false }
const tracers: readonly TraceRequest['tracer'][] = [
  { tracer: 'callTracer', onlyTopCall: false, withLog: true },
  { tracer: 'prestateTracer', ...prestate, diffMode: false },
  { tracer: 'prestateTracer', ...prestate, diffMode: true },
  { tracer: 'prestateTracer', ...prestate, diffMode: false, includeEmpty: true },
  { tracer: 'flatCallTracer', convertParityErrors: true, includePrecompiles: true },
  { tracer: 'replay', trace: true, vmTrace: false, stateDiff: true, withHash: false },
  { tracer: 'erc7562Tracer', withLog: true, ignored: undefined },
  { tracer: 'opcodes', ...off },
]
/** A block with more transactions has only some of them traced by themselves. */
const transactionsMax = 8
/** The blocks with most transactions among those with little gas. */
const blocksMax = 4
const gasMax = 5_000_000

function traceText(
  tracing: Tracing,
  subject: TraceRequest['subject'],
  tracer: TraceRequest['tracer'],
): string {
  const parts: Uint8Array[] = []
  const last = tracing.trace({ subject, tracer } as TraceRequest, goOn, (part) => parts.push(part))
  return Buffer.concat([...parts, last]).toString()
}

/** Blocks with several transactions, from Cancun on, those with most first. */
function blocksOf(store: ChainReader): { readonly hash: Hash32; readonly count: number }[] {
  const replays = new BlockReplays(store)
  const head = store.readHead()?.number ?? 0
  const found = []
  for (let number = 1; number <= head; number++) {
    const hash = store.readCanonicalHash(number) as Hash32
    const { transactions, context, header } = replays.read(hash)
    const isListed = transactions.length > 1 && includesFork(context.fork, 'cancun')
    if (isListed && header.gasUsed <= gasMax) found.push({ hash, count: transactions.length })
  }
  return found.sort((a, b) => b.count - a.count).slice(0, blocksMax)
}

/** Number of transactions that run during `work`. */
function runsDuring(work: () => void): number {
  const { run } = BlockReplays.prototype
  let runs = 0
  BlockReplays.prototype.run = function (...args) {
    runs++
    return run.apply(this, args)
  }
  try {
    work()
  } finally {
    BlockReplays.prototype.run = run
  }
  return runs
}

function compare(t: Test, store: ChainReader): void {
  const blocks = blocksOf(store)
  t.ok(blocks.length > 0, 'there are such blocks')
  for (const tracer of tracers) {
    const tracing = new Tracing(store, traceLimits)
    for (const { hash, count } of blocks) {
      const whole = JSON.parse(
        traceText(tracing, { kind: 'block', blockHash: hash, isPlain: true }, tracer),
      ) as unknown[]
      const step = Math.ceil(count / transactionsMax)
      const last = count - 1
      const ask = (index: number) => {
        const text = traceText(tracing, { kind: 'transaction', blockHash: hash, index }, tracer)
        if (JSON.stringify(JSON.parse(text)) !== JSON.stringify(whole[index]))
          t.fail(`${JSON.stringify(tracer)}: transaction ${index} of ${Buffer.from(hash).toString('hex')}`)
      }
      // The earlier transactions, and the block for the second one.
      t.equal(
        runsDuring(() => ask(last)),
        count,
      )
      t.equal(
        runsDuring(() => ask(last)),
        count + 1,
      )
      for (let index = 0; index < count; index += step)
        t.equal(
          runsDuring(() => ask(index)),
          1,
        )
    }
  }
}

t.test('each transaction of the demo chain is traced as with its block', async (t) => compare(t, demoStore))

t.test('and of a chain with access lists', { skip: withoutAmsterdam }, async (t) => {
  const store = ChainReader.open({ path: storePathOf(fixtureDir, 'cross') })
  t.teardown(() => store.close())
  compare(t, store)
})

t.test('a block that takes too long is tried again', async (t) => {
  const tracing = new Tracing(demoStore, traceLimits)
  const [block] = blocksOf(demoStore)
  if (block === undefined) throw new Error('the demo chain has no such block')
  const [tracer] = tracers as [TraceRequest['tracer']]
  const subject = { kind: 'transaction', blockHash: block.hash, index: 1 } as const
  const first = traceText(tracing, subject, tracer)
  let looks = 0
  const stopSoon = () => ++looks > 1
  t.throws(() => tracing.trace({ subject, tracer }, stopSoon, () => {}), FaultError)
  for (let time = 0; time < 2; time++) t.equal(traceText(tracing, subject, tracer), first)
})
