// @shares
// @clock it counts batches, which become smaller where answers take long
/**
 * Reorganisations of a gateway's chain by any depth. Within `historyBlocks` it takes the new branch from the common
 * ancestor on; beyond that it begins again at the new head. No block of the old branch then has a number.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { decodeHeader, encodeHeader, type Header, toTimestamp } from '../../../../src/data/chain/header.js'
import { openRows } from '../../../../src/data/state/provedRows.js'
import type { ChainReader } from '../../../../src/data/store/chainReader.js'
import { GatewayWriter } from '../../../../src/data/store/gatewayWriter.js'
import {
  bytesToHex,
  equalBytes,
  type Hash32,
  toHash32,
  toQuantity,
} from '../../../../src/primitives/bytes.js'
import { defer } from '../../../../src/primitives/deferred.js'
import { emptyTrieRoot, emptyUnclesHash, keccak256 } from '../../../../src/primitives/keccak.js'
import { NotStoredError } from '../../../../src/primitives/notStored.js'
import { decodeRlpList, encodeRlp } from '../../../../src/primitives/rlp.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { runGateway } from '../../../../src/sources/ingest/gateway/runGateway.js'
import { verifyGateway } from '../../../../src/sources/ingest/gateway/verifyGateway.js'
import type { CallAnswerer } from '../../../../src/sources/ingest/thread/callAnswerer.js'
import type { IngestMessage } from '../../../../src/sources/ingest/thread/messages.js'
import { inTime, waitFor } from '../../../library/until.js'
import { type NodeAnswer, type NodeCall, WeatherNode } from '../../../upstream/weatherNode.js'

const mapBytes = 2 ** 30
const chainId = 4_242
const forks = ['homestead', 'eip150', 'eip155', 'eip158', 'byzantium', 'constantinople', 'petersburg']
const later = ['istanbul', 'berlin', 'london']
const genesisText = JSON.stringify({
  config: {
    chainId,
    terminalTotalDifficulty: 0,
    ...Object.fromEntries([...forks, ...later].map((name) => [`${name}Block`, 0])),
  },
  difficulty: '0x0',
  gasLimit: '0x1c9c380',
  timestamp: '0x5f5e1000',
  baseFeePerGas: '0x7',
  alloc: {},
})

interface Made {
  readonly hash: Hash32
  readonly header: Header
  readonly rlp: Uint8Array
}

function made(header: Header): Made {
  const rlp = encodeHeader(header)
  return { hash: toHash32(keccak256(rlp)), header: decodeHeader(rlp), rlp }
}

/** An empty block; `branch` makes branches differ. */
function nextBlock({ hash, header }: Made, branch: number): Made {
  return made({
    ...header,
    parentHash: hash,
    unclesHash: emptyUnclesHash,
    transactionsRoot: emptyTrieRoot,
    receiptsRoot: emptyTrieRoot,
    number: header.number + 1,
    timestamp: toTimestamp(BigInt(header.timestamp) + 12n),
    extraData: Uint8Array.of(branch),
  })
}

/** A node whose chain can be replaced from any block on. */
class DeepNode {
  readonly node = new WeatherNode((call) => this.#answer(call))
  readonly chain: Made[]
  readonly #byHash = new Map<string, Made>()

  constructor() {
    const genesis = decodeHeader(parseGenesis(genesisText).blockDiff.header)
    this.chain = [made(genesis)]
    this.#keep(this.chain[0] as Made)
  }

  get tip(): Made {
    return this.chain.at(-1) as Made
  }

  grow(count: number, branch: number): void {
    for (let left = count; left > 0; left--) {
      const block = nextBlock(this.tip, branch)
      this.chain.push(block)
      this.#keep(block)
    }
  }

  /** Replaces the last blocks by one more. */
  reorganise(depth: number, branch: number): void {
    this.chain.length -= depth
    this.grow(depth + 1, branch)
  }

  tell(): void {
    this.node.tell(this.#claim(this.tip))
  }

  #keep(block: Made): void {
    this.#byHash.set(bytesToHex(block.hash), block)
  }

  #claim({ hash, header }: Made) {
    return {
      number: toQuantity(header.number),
      hash: bytesToHex(hash),
      parentHash: bytesToHex(header.parentHash),
    }
  }

  #find(id: unknown): Made | undefined {
    const text = String(id)
    if (text === 'latest') return this.tip
    if (text === 'safe' || text === 'finalized') return this.chain[0]
    return text.length === 66 ? this.#byHash.get(text) : this.chain[Number(text)]
  }

  #answer({ method, params }: NodeCall): NodeAnswer {
    if (method === 'eth_chainId') return { result: toQuantity(chainId) }
    if (method === 'debug_chainConfig') return { result: JSON.parse(genesisText).config }
    const block = this.#find(params[0])
    if (method === 'eth_getBlockByNumber') return { result: block === undefined ? null : this.#claim(block) }
    const raw = {
      debug_getRawHeader: () => block && bytesToHex(block.rlp),
      debug_getRawBlock: () => block && bytesToHex(encodeRlp([decodeRlpList(block.rlp), [], []])),
      debug_getRawReceipts: () => [],
    }[method]
    if (raw === undefined) return { error: { code: -32601, message: 'the method does not exist' } }
    const result = raw()
    return result === undefined ? { error: { code: -32000, message: 'no such block' } } : { result }
  }
}

/** The hash of a number in the store; undefined if there is none. */
function hashAt(rows: ChainReader, number: number): Hash32 | undefined {
  try {
    return rows.readCanonicalHash(number)
  } catch (error) {
    if (error instanceof NotStoredError) return undefined
    throw error
  }
}

/** Numbers that the store has of other blocks than the node's. */
function deadNumbers(rows: ChainReader, { chain }: DeepNode): number[] {
  return chain.flatMap(({ hash }, number) => {
    const held = hashAt(rows, number)
    return held === undefined || equalBytes(held, hash) ? [] : [number]
  })
}

async function openGateway(t: Test, { node }: DeepNode, historyBlocks: number) {
  const storePath = join(t.testdir(), 'chain.mdb')
  const stop = new AbortController()
  const messages: IngestMessage[] = []
  const ready = defer<CallAnswerer>()
  const run = runGateway(
    {
      storePath,
      mapBytes,
      network: 'deep',
      forks: {},
      chainId: undefined,
      upstreams: [{ url: node.url, timeoutMs: 60_000, answerBytesMax: 2 ** 26 }],
      quorum: 1,
      pollMs: 50,
      historyBlocks,
      fetchMsMax: 60_000,
      genesis: { path: 'genesis.json', text: genesisText },
    },
    {
      report: (message) => void messages.push(message),
      signal: stop.signal,
      onReady: (calls) => ready.resolve(calls),
    },
  )
  const calls = await inTime('the store', ready.promise)
  await waitFor('the first head', () => messages.some(({ type }) => type === 'opened'))
  const rows = openRows({ path: storePath, mapBytes })
  t.teardown(() => rows.close())
  await waitFor('a subscription', () => node.subscribers > 0)
  let serial = 0
  return {
    rows,
    reached: (block: Made) =>
      waitFor(`block ${block.header.number}`, () => {
        rows.refresh()
        return equalBytes(rows.readHead()?.hash ?? new Uint8Array(0), block.hash)
      }),
    linkedTo: (number: number) =>
      waitFor(`links down to ${number}`, () => {
        rows.refresh()
        return (rows.readLinkedFrom() ?? Infinity) <= number
      }),
    /** Has a block below the linked ones named by the node. */
    async name(number: number) {
      calls.take({ type: 'call', serial: ++serial, name: 'fetch', args: [{ kind: 'canonical', number }] })
      await waitFor('its name', () => messages.some((each) => 'serial' in each && each.serial === serial))
    },
    async stop() {
      stop.abort()
      await run
      const store = GatewayWriter.open({ path: storePath, mapBytes })
      const report = verifyGateway(store)
      await store.close()
      return report
    },
  }
}

const length = 11_000
for (const [historyBlocks, depths] of [
  [512, [200, 1_000]],
  [12_000, [1_000, 10_000]],
] as const) {
  for (const depth of depths) {
    const isHeld = depth < historyBlocks
    const how = isHeld ? 'is followed from the common ancestor on' : 'is begun anew at the new head'
    t.test(`a reorganisation of ${depth} blocks, of ${historyBlocks} that are linked, ${how}`, async (t) => {
      const node = new DeepNode()
      await node.node.start()
      t.teardown(() => node.node.stop())
      node.grow(length, 1)
      const gateway = await openGateway(t, node, historyBlocks)
      await gateway.linkedTo(Math.max(0, length - historyBlocks))
      const named = length - depth + 10
      if (!isHeld) await gateway.name(named)
      const before = node.node.requests.length
      node.reorganise(depth, 2)
      node.tell()
      await gateway.reached(node.tip)
      const { rows } = gateway
      const { number } = node.tip.header
      if (isHeld) {
        const from = rows.readLinkedFrom() as number
        t.ok(from <= number - depth, 'the branch is linked at once')
        t.ok(node.node.requests.length - before < depth / 64 + 40, 'in batches')
      } else await gateway.linkedTo(number - historyBlocks)
      t.strictSame(deadNumbers(rows, node), [], 'no number is of the dead branch')
      node.grow(1, 2)
      node.tell()
      await gateway.reached(node.tip)
      t.strictSame((await gateway.stop()).faults, [])
    })
  }
}

t.test('one that came while the node was away for longer than is linked', async (t) => {
  const node = new DeepNode()
  await node.node.start()
  t.teardown(() => node.node.stop())
  node.grow(1_000, 1)
  const gateway = await openGateway(t, node, 512)
  await gateway.linkedTo(488)
  node.reorganise(100, 2)
  node.grow(700, 2)
  node.tell()
  await gateway.reached(node.tip)
  t.strictSame(deadNumbers(gateway.rows, node), [])
  t.strictSame((await gateway.stop()).faults, [])
})
