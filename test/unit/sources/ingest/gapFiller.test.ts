/** A consensus client chooses a head whose ancestors are not stored: nodes send them by hash, and they are executed. */
import t, { type Test } from 'tap'
import { bytesToHex, equalBytes, type Hash32 } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { type Block, linkOf, parseBlock } from '../../../../src/sources/ingest/blocks/block.js'
import { ImportSession } from '../../../../src/sources/ingest/blocks/importSession.js'
import { BlockMaker } from '../../../../src/sources/ingest/develop/blockMaker.js'
import { Engine } from '../../../../src/sources/ingest/engine/engine.js'
import { GapFiller, type GapParts } from '../../../../src/sources/ingest/engine/gapFiller.js'
import { nodeSource } from '../../../../src/sources/ingest/engine/gapSources.js'
import type { GapLimits } from '../../../../src/sources/ingest/thread/messages.js'
import type { ChainMaker, MadeBlock } from '../../../ingest/chainMaker.js'
import { waitFor } from '../../../library/until.js'
import { change, make, merged, mustBeSound, openImporter, writes } from './importing.js'

const receivedMax = 16
const limits: GapLimits = {
  receivedMax,
  windowBlocks: 8,
  batchBlocks: 64,
  batchBytes: 2 ** 20,
  turnMs: 250,
  retryMs: 500,
  missingMs: 12_000,
}

/** Nodes that have these blocks, and count their questions. */
class Nodes {
  readonly #blocks = new Map<string, Block>()
  readonly asked = { headers: 0, most: 0, bodies: 0 }
  /** Numbers of blocks whose bodies no node has. */
  readonly withoutBody = new Set<number>()

  constructor(blocks: readonly MadeBlock[]) {
    for (const { rlp } of blocks) this.add(parseBlock(rlp))
  }

  add(block: Block): void {
    this.#blocks.set(bytesToHex(block.hash), block)
  }

  get source(): Parameters<typeof nodeSource>[0] {
    const find = (hash: Hash32) => this.#blocks.get(bytesToHex(hash))
    const headerOf = (block: Block) => ({ ...linkOf(block), headerRlp: block.headerRlp })
    return {
      linkByHash: async (hash) => {
        this.asked.headers++
        const block = find(hash)
        return block && headerOf(block)
      },
      linksBelow: async ({ parentHash }, count) => {
        this.asked.most = Math.max(this.asked.most, count)
        const links = []
        let block = find(parentHash)
        for (let at = 0; at < count && block !== undefined; at++) {
          links.push(headerOf(block))
          block = find(block.header.parentHash)
        }
        this.asked.headers += links.length
        return links
      },
      byHash: async (hash) => {
        this.asked.bodies++
        const block = find(hash)
        if (block === undefined || this.withoutBody.has(block.header.number)) return undefined
        return { ...linkOf(block), rlp: block.bodyRlp, block, upstream: undefined as never }
      },
    }
  }
}

async function openGap(t: Test, maker: ChainMaker, nodes: Nodes) {
  const { store, schedule, importer, importAll } = await openImporter(t, maker)
  const said: string[] = []
  const say = (text: string) => said.push(text)
  const reported: number[] = []
  let filled = 0
  let last: Promise<unknown> = Promise.resolve()
  const inTurn: GapParts['inTurn'] = (work) => {
    const done = last.then(work)
    last = done.catch(() => undefined)
    return done
  }
  const engine: Engine = new Engine({
    store,
    schedule,
    importer,
    maker: new BlockMaker(store, schedule, say),
    events: {
      onChoice: async () => undefined,
      say,
      onUnlinked: (block) => gap.receive(block),
      onUnknownHead: (head) => gap.want(head),
    },
  })
  const parts: GapParts = {
    store,
    importer,
    session: new ImportSession(importer, store, () => undefined),
    blocks: nodeSource(nodes.source),
    limits,
    rejected: engine.rejected,
    inTurn,
    reject: (error, asked, parentHash) => engine.reject(error, asked, parentHash),
    onFilled: async () => {
      filled++
    },
    report: (message) => message.type === 'progress' && reported.push(message.progress.number),
    say,
  }
  const gap = new GapFiller(parts)
  const ending = new AbortController()
  const running = gap.run(ending.signal)
  t.teardown(async () => {
    ending.abort()
    await running
  })
  const give = (made: MadeBlock) => inTurn(() => engine.newPayload(() => parseBlock(made.rlp)))
  const choose = ({ hash }: Pick<MadeBlock, 'hash'>) =>
    inTurn(() => engine.choose({ head: hash as Hash32, safe: undefined, finalized: undefined }))
  const comes = (made: MadeBlock) =>
    waitFor(`the head ${made.number}`, () => equalBytes(store.head.hash, made.hash))
  return { store, gap, give, choose, comes, importAll, said, reported, filled: () => filled }
}

t.test('a chosen head brings all its ancestors, also those of another branch', async (t) => {
  const maker = await make(t, merged())
  const trunk = await maker.extendBy(maker.genesis, writes(5n, 150))
  const branch = await maker.extendBy(trunk[145] as MadeBlock, writes(6n, 20))
  const head = trunk.at(-1) as MadeBlock
  const other = branch.at(-1) as MadeBlock
  // No node has the newest block yet: the consensus client gave it.
  const nodes = new Nodes([...trunk.slice(0, -1), ...branch])
  const { store, gap, give, choose, comes, said, reported, filled } = await openGap(t, maker, nodes)
  t.equal((await give(head)).status, 'SYNCING')
  t.equal((await choose(head)).status, 'SYNCING')
  t.equal((await choose(head)).status, 'SYNCING', 'while blocks come')
  await comes(head)
  await waitFor('the report', () => filled() === 1)
  t.equal((await choose(head)).status, 'VALID')
  t.equal(gap.number, undefined)
  t.ok(
    reported.every((number, index) => index === 0 || number >= (reported[index - 1] as number)),
    'progress goes up',
  )
  t.ok(new Set(reported).size > 150 / 64, 'and comes several times')
  t.match(said, [/150 blocks up to 150, the chosen head, come from nodes/])
  t.equal(nodes.asked.bodies, 149)
  t.ok(nodes.asked.most <= 64)
  const before = nodes.asked.headers
  t.equal((await choose(other)).status, 'SYNCING')
  await comes(other)
  t.equal((await choose(other)).status, 'VALID')
  t.ok(nodes.asked.headers - before < 150, 'only headers of the branch are asked for again')
  t.equal((await choose(head)).status, 'VALID', 'both branches are stored')
  mustBeSound(t, store)
})

t.test('an invalid block ends the gap, and its descendants are invalid', async (t) => {
  const maker = await make(t, merged())
  const trunk = await maker.extendBy(maker.genesis, writes(5n, 10))
  const bad = change(trunk[5] as MadeBlock, { stateRoot: keccak256(Buffer.from('lie')) })
  const child = change(trunk[6] as MadeBlock, { parentHash: bad.hash })
  const grandchild = change(trunk[7] as MadeBlock, { parentHash: child.hash })
  const nodes = new Nodes([...trunk.slice(0, 5), bad, child, grandchild])
  const { store, choose, said } = await openGap(t, maker, nodes)
  t.equal((await choose(child)).status, 'SYNCING')
  await waitFor('the sentence', () => said.some((text) => /has a bad block/.test(text)))
  const valid = bytesToHex((trunk[4] as MadeBlock).hash)
  const isInvalid = async (made: MadeBlock) => {
    const { status, latestValidHash, validationError } = await choose(made)
    if (status !== 'INVALID') return false
    t.equal(latestValidHash && bytesToHex(latestValidHash), valid)
    t.match(validationError, /stateRoot is/)
    return true
  }
  t.ok(await isInvalid(child))
  await waitFor('the descendant', () => isInvalid(grandchild))
  t.equal(said.length, 1, 'the operator gets one sentence')
  t.equal(bytesToHex(store.head.hash), valid, 'all blocks before it are stored')
  mustBeSound(t, store)
})

t.test('a head of another chain is reported, and the next one is taken', async (t) => {
  const maker = await make(t, merged())
  const trunk = await maker.extendBy(maker.genesis, writes(5n, 20))
  const foreign = change(trunk[0] as MadeBlock, { parentHash: keccak256(Buffer.from('another genesis')) })
  const nodes = new Nodes([...trunk, foreign])
  const { gap, choose, comes, store } = await openGap(t, maker, nodes)
  t.equal((await choose(foreign)).status, 'SYNCING')
  await waitFor('the trouble', () => /is of another chain/.test(gap.trouble ?? ''))
  t.equal(store.head.number, 0)
  const head = trunk.at(-1) as MadeBlock
  t.equal((await choose(head)).status, 'SYNCING')
  await comes(head)
  await waitFor('the end of the trouble', () => gap.trouble === undefined)
})

t.test('a block that no node has is asked for until it comes, or another head is chosen', async (t) => {
  const maker = await make(t, merged())
  const trunk = await maker.extendBy(maker.genesis, writes(5n, 6))
  const [, , third, , , last] = trunk as [MadeBlock, MadeBlock, MadeBlock, MadeBlock, MadeBlock, MadeBlock]
  const nodes = new Nodes(trunk.slice(0, 4))
  const { gap, choose, comes, store } = await openGap(t, maker, nodes)
  await choose(last)
  await waitFor('several requests', () => nodes.asked.headers > 2)
  t.equal(gap.figures, undefined, 'the number of the chosen head is not known')
  await choose(third)
  await comes(third)
  nodes.add(parseBlock(last.rlp))
  await choose(last)
  await waitFor('the number of the chosen head', () => gap.figures?.head === 6)
  t.strictSame(gap.figures, { head: 6, fetched: 0, executed: 0, left: 3 })
  nodes.add(parseBlock((trunk[4] as MadeBlock).rlp))
  await comes(last)
  await waitFor('the end of the gap', () => gap.figures === undefined)
  t.equal((await choose(third)).status, 'VALID', 'a stored head ends the work')
  t.equal(store.head.number, third.number)
})

t.test('blocks that the client gives while nodes are asked for them end the search', async (t) => {
  const maker = await make(t, merged())
  const trunk = await maker.extendBy(maker.genesis, writes(5n, 6))
  const [first, second, , , fifth, last] = trunk as [
    MadeBlock,
    MadeBlock,
    MadeBlock,
    MadeBlock,
    MadeBlock,
    MadeBlock,
  ]
  const nodes = new Nodes(trunk.slice(0, 5))
  nodes.withoutBody.add(2)
  const { give, choose, comes } = await openGap(t, maker, nodes)
  await choose(fifth)
  await waitFor('several requests for a body', () => nodes.asked.bodies > 8)
  t.equal((await give(first)).status, 'VALID')
  t.equal((await give(second)).status, 'VALID')
  await comes(fifth)

  const other = await maker.extendBy(fifth, writes(7n, 3))
  await give(other[2] as MadeBlock)
  nodes.asked.most = 0
  await choose(other[2] as MadeBlock)
  await waitFor('a request for a header', () => nodes.asked.most > 0)
  t.equal((await give(other[0] as MadeBlock)).status, 'VALID')
  t.equal((await give(other[1] as MadeBlock)).status, 'VALID')
  await comes(other[2] as MadeBlock)
  t.equal((await give(last)).status, 'VALID')
})

t.test('payloads without parents are remembered up to a limit', async (t) => {
  const maker = await make(t, merged())
  const trunk = await maker.extendBy(maker.genesis, writes(5n, receivedMax + 2))
  const nodes = new Nodes([])
  const { give, choose, comes } = await openGap(t, maker, nodes)
  for (const made of trunk.slice(1)) t.equal((await give(made)).status, 'SYNCING')
  t.equal((await give(trunk[0] as MadeBlock)).status, 'VALID')
  await choose(trunk.at(-1) as MadeBlock)
  await waitFor('a request for what was forgotten', () => nodes.asked.most > 0)
  nodes.add(parseBlock((trunk[1] as MadeBlock).rlp))
  await comes(trunk.at(-1) as MadeBlock)
  t.equal(nodes.asked.bodies, 1, 'the others were remembered')
})
