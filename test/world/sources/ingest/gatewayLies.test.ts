// @alone it measures its process, or closes what others share
/**
 * One random byte of one random answer is changed. A gateway then stores the same as with the honest answer, or
 * nothing.
 */
import { join } from 'node:path'
import t from 'tap'
import { ForkSchedule } from '../../../../src/data/chain/forks.js'
import { decodeHeader } from '../../../../src/data/chain/header.js'
import { hasCode } from '../../../../src/data/state/account.js'
import { trieState } from '../../../../src/data/state/trieState.js'
import { hashedTries, triesAfter } from '../../../../src/data/state/tries.js'
import type { ChainReader } from '../../../../src/data/store/chainReader.js'
import type { ChainIdentity } from '../../../../src/data/store/chainRows.js'
import { type CanonicalHeader, GatewayWriter } from '../../../../src/data/store/gatewayWriter.js'
import { type Address, type Hash32, hexToBytes } from '../../../../src/primitives/bytes.js'
import { FaultError } from '../../../../src/primitives/faults.js'
import type { Wanted } from '../../../../src/primitives/notStored.js'
import { ProofFetcher } from '../../../../src/sources/ingest/gateway/proofFetcher.js'
import type { Asking } from '../../../../src/sources/ingest/nodes/proving.js'
import { NodeError, type Upstream } from '../../../../src/sources/upstream/upstream.js'
import { Dice, propertyRuns } from '../../../library/property.js'
import { blockAt, blocks, examples } from '../../../rpc/demoChain.js'
import { demoStore } from '../../../unit/execution/evm/demoExecution.js'
import { demoEndpoint, opened } from '../../../unit/serving/rpc/demoRig.js'
import { tellOneLie } from '../../../upstream/lies.js'
import { upstreamDouble } from '../../../upstream/upstreamDouble.js'

const endpoint = demoEndpoint(opened)
const { numRuns, seed } = propertyRuns(1_000)
const dice = new Dice(seed as number)

async function answerOf(upstream: Upstream, method: string, params: readonly unknown[]): Promise<unknown> {
  const { body } = await endpoint.handle(
    Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })),
  )
  const text =
    typeof body === 'string' ? body : Buffer.concat(body.map((piece) => Buffer.from(piece))).toString()
  const { result, error } = JSON.parse(text)
  // For another upstream than the asked one, the request would repeat without end.
  if (error !== undefined) throw new NodeError(upstream, error.code, error.message, undefined)
  return result
}

/** An upstream whose answer number `at` has one lie. */
class Liar implements Asking {
  readonly quorum = 1
  readonly count = 1
  /** Whether the node has the methods for raw blocks. */
  isRaw = false
  at = 0
  lie = 'none'
  accused: string | undefined
  readonly #upstream: Upstream = upstreamDouble('liar', (what) => {
    this.accused = what
  })

  get candidates(): readonly Upstream[] {
    return this.accused === undefined ? [this.#upstream] : []
  }

  async ask(method: string, params: readonly unknown[]) {
    if (method.startsWith('debug_') && !this.isRaw) {
      throw new NodeError(this.#upstream, -32601, 'no such method', undefined)
    }
    const result = await answerOf(this.#upstream, method, params)
    if (this.at-- !== 0) return { result, upstream: this.#upstream }
    const { lie, where } = tellOneLie(result, dice)
    this.lie = `${method}: ${where}`
    return { result: lie, upstream: this.#upstream }
  }
}

function openStore(): GatewayWriter {
  const store = GatewayWriter.open({ path: join(t.testdir(), 'chain.mdb'), mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  store.begin(demoStore.readIdentity() as ChainIdentity)
  const headers = blocks.map(({ hash, number }): CanonicalHeader => {
    const header = demoStore.readHeader(hexToBytes(hash) as Hash32) as Uint8Array
    return {
      number,
      hash: hexToBytes(hash) as Hash32,
      header: Uint8Array.from(header),
      totalDifficulty: undefined,
    }
  })
  store.advance(-1, headers, true)
  return store
}

const store = openStore()
const identity = demoStore.readIdentity() as ChainIdentity
const schedule = ForkSchedule.of(identity)

/** Chooses data that the chain has. */
function chooseWanted(): Wanted {
  const block = blocks[dice.throw(blocks.length)] as (typeof blocks)[number]
  const hash = hexToBytes(block.hash) as Hash32
  switch (dice.throw(5)) {
    case 0:
      return { kind: 'body', hash }
    case 1:
      return { kind: 'receipts', hash }
    case 2: {
      const transaction = examples.transactions[dice.throw(examples.transactions.length)]
      return { kind: 'location', hash: hexToBytes(transaction?.hash as string) as Hash32 }
    }
    case 3: {
      const {
        address,
        slot,
        block: number,
      } = examples.slots[dice.throw(examples.slots.length)] as never as {
        address: string
        slot: string
        block: number
      }
      const block = hexToBytes(blockAt(Math.max(number, 1)).hash) as Hash32
      const { stateRoot } = decodeHeader(demoStore.readHeader(block) as Uint8Array)
      const wide = hexToBytes(slot.slice(2).padStart(64, '0')) as Hash32
      return { kind: 'state', block, stateRoot, address: hexToBytes(address) as Address, slots: [wide] }
    }
    default: {
      const block = demoStore.readHead()?.hash as Hash32
      const { stateRoot } = decodeHeader(demoStore.readHeader(block) as Uint8Array)
      const state = stateAfter(demoStore, stateRoot, block)
      const coded = examples.contracts
        .map(({ address }) => hexToBytes(address) as Address)
        .filter((address) => hasCode(state.account(address)))
      const address = coded[dice.throw(coded.length)] as Address
      const codeHash = state.account(address)?.codeHash as Hash32
      store.putCodeOwner(codeHash, { block, address })
      return { kind: 'code', hash: codeHash }
    }
  }
}

function stateAfter(reader: ChainReader, stateRoot: Hash32, hash: Hash32) {
  const { number } = decodeHeader(demoStore.readHeader(hash) as Uint8Array)
  const tries =
    reader === demoStore ? triesAfter(reader, { number, hash }) : hashedTries((node) => reader.readNode(node))
  return trieState(reader, stateRoot, hash, tries)
}

/** Whether the store has the archive's data for `wanted`. */
function isRight(wanted: Wanted): boolean {
  switch (wanted.kind) {
    case 'body': {
      const [mine, its] = [store, demoStore].map((reader) => [
        reader.readBody(wanted.hash),
        reader.readBlock(wanted.hash)?.senders,
        reader.readBlock(wanted.hash)?.header,
      ])
      return JSON.stringify(mine) === JSON.stringify(its)
    }
    case 'receipts':
      return equal(store.readReceipts(wanted.hash), demoStore.readReceipts(wanted.hash))
    case 'location': {
      const [mine, its] = [store, demoStore].map((reader) => reader.readLocation(wanted.hash))
      return mine?.index === its?.index && equal(mine?.blockHash, its?.blockHash)
    }
    case 'code':
      return equal(store.readCode(wanted.hash), demoStore.readCode(wanted.hash))
    case 'state': {
      const { block, stateRoot, address, slots } = wanted
      const [mine, its] = [store, demoStore].map((reader) =>
        stateAfter(reader, stateRoot, block).slot(address as Address, slots[0] as Hash32),
      )
      return equal(mine ?? new Uint8Array(0), its ?? new Uint8Array(0))
    }
    default:
      return false
  }
}

function equal(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a !== undefined && b !== undefined && Buffer.compare(a, b) === 0
}

t.test('no lie is stored', async (t) => {
  const liar = new Liar()
  const options = { schedule, fetchMsMax: 60_000 }
  const counts = { caught: 0, harmless: 0, unreported: 0 }
  for (let run = 0; counts.caught + counts.harmless < (numRuns as number); run++) {
    const wanted = chooseWanted()
    liar.isRaw = dice.throw(2) === 0
    liar.at = dice.throw(3)
    liar.accused = undefined
    liar.lie = 'none'
    try {
      const outcome = await new ProofFetcher(store, liar, options).fetch(wanted)
      if (outcome !== 'stored' || !isRight(wanted)) t.fail(`${liar.lie}: ${outcome}`, { wanted, seed, run })
      if (liar.lie === 'none') counts.unreported++
      else counts.harmless++
    } catch (error) {
      if (!(error instanceof FaultError) || liar.lie === 'none') throw error
      counts.caught++
    }
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.caught > counts.harmless)
})
