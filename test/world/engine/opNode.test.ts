/**
 * Replays the calls of op-node to its engine, op-geth, at the start of a rollup (`../shared/engine/op-node`), up to the
 * first gap of the recording. One is a sequencer. The other is a verifier that gets blocks before their parents.
 * Skipped without the recordings.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isObject } from '../../../src/primitives/jsonType.js'
import { engineRecordings } from '../../consensus/engineRecordings.js'
import { optimismGenesis, skipsOptimism } from '../../ingest/optimismChain.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { startEngine } from '../../service/engineNode.js'

interface Exchange {
  readonly side: 'sequencer' | 'verifier'
  /** Index of the exchange in its recording. */
  readonly n: number
  readonly method: string
  readonly params?: readonly unknown[]
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

const file = join(engineRecordings, 'op-node/op-node-engine.jsonl')
const skip = existsSync(file) ? skipsOptimism : `there are no recordings at ${engineRecordings}`

/** Exchanges of a side from the first on, up to the first gap. */
function recorded(side: Exchange['side']): Exchange[] {
  const all = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line): Exchange => JSON.parse(line))
    .filter((exchange) => exchange.side === side)
  return all.slice(
    0,
    all.findIndex(({ n }, index) => n !== index),
  )
}

/** The genesis of the recorded rollup, as `make-genesis.py` beside the recordings makes it. */
function genesisAt(time: number): object {
  const genesis = JSON.parse(optimismGenesis('a'))
  const forks = ['canyon', 'ecotone', 'fjord', 'granite', 'holocene', 'isthmus', 'jovian']
  const secondsBetween = 8
  const times = Object.fromEntries(
    forks.map((fork, index) => [`${fork}Time`, time + secondsBetween * (index + 1)]),
  )
  const config = Object.fromEntries(Object.entries(genesis.config).filter(([name]) => !name.endsWith('Time')))
  const rich = { balance: '0xd3c21bcecceda1000000' }
  const people = [
    'f39fd6e51aad88f6f4ce6ab8827279cfffb92266',
    '70997970c51812dc3a010c7d01b50e0d17dc79c8',
    '3c44cdddb6a900fa2b585dd299e03d12fa4293bc',
  ]
  const { excessBlobGas: _, blobGasUsed: __, slotNumber: ___, ...members } = genesis
  return {
    ...members,
    timestamp: `0x${time.toString(16)}`,
    alloc: { ...genesis.alloc, ...Object.fromEntries(people.map((address) => [address, rich])) },
    config: {
      ...config,
      regolithTime: 0,
      ...times,
      shanghaiTime: times.canyonTime,
      cancunTime: times.ecotoneTime,
      pragueTime: times.isthmusTime,
      chainId: 901,
      terminalTotalDifficulty: 0,
      optimism: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
    },
  }
}

for (const side of ['sequencer', 'verifier'] as const) {
  t.test(`a ${side} of op-node gets the answers of op-geth`, { skip }, async (t) => {
    const exchanges = recorded(side)
    t.ok(exchanges.length >= 25, `${exchanges.length} exchanges`)
    const first = exchanges.find(({ method }) => method === 'eth_getBlockByNumber')?.result as {
      timestamp: string
    }
    const folder = makeFolder(t)
    const genesis = writeInto(folder, 'genesis.json', genesisAt(Number(first.timestamp)))
    const node = await startEngine(t, { genesis })
    // The service's payload id for each recorded one.
    const ids = new Map<unknown, unknown>()
    for (const { n, method, params = [], result, error } of exchanges) {
      const answer = await node.call(
        method,
        params.map((param) => ids.get(param) ?? param),
      )
      const what = `${n} ${method}`
      if (error !== undefined) {
        t.match(answer.error, { code: error.code, message: error.message }, what)
        continue
      }
      if (isObject(result) && typeof result.payloadId === 'string')
        ids.set(result.payloadId, answer.result?.payloadId)
      t.strictSame(comparable(answer.result), comparable(result), what)
    }
    t.ok(ids.size > 2, 'blocks were built')
  })
}

/** A result without values that clients may choose: payload ids, sentences, and members that only one of both has. */
function comparable(result: unknown): unknown {
  if (!isObject(result)) return result
  const { payloadId, payloadStatus, validationError: _, totalDifficulty: __, size: ___, ...rest } = result
  const built =
    rest.executionPayload === undefined
      ? rest
      : { executionPayload: withoutNull(rest.executionPayload), value: rest.blockValue }
  return {
    ...built,
    ...(payloadStatus !== undefined && {
      payloadStatus: comparable(payloadStatus),
      isBuilding: typeof payloadId === 'string',
    }),
  }
}

/** Absent and null are the same in a payload. */
function withoutNull(json: unknown): unknown {
  return isObject(json)
    ? Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null))
    : json
}
