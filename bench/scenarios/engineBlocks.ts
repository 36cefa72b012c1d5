/**
 * The time of `engine_newPayload` for blocks of 30 million gas, over the listener for a consensus client. The blocks
 * have token transfers and swaps. The time ends with the answer, when the block is on disk. Each block then becomes the
 * head. A caller reads balances, one after the other, before the first block and meanwhile.
 */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ChainReader } from '../../src/data/store/chainReader.js'
import { bytesToHex, type Hash32 } from '../../src/primitives/bytes.js'
import { decodeRlpList, encodeRlp } from '../../src/primitives/rlp.js'
import { parseBlock } from '../../src/sources/ingest/blocks/block.js'
import { payloadOf } from '../../test/ingest/payloads.js'
import { tokenOf } from '../../test/library/engineToken.js'
import { freePorts } from '../../test/service/ports.js'
import { findNetwork, fullBlocks } from '../data/networks.js'
import { askBody, rpc } from '../load/rpc.js'
import { median, percentile } from '../report/statistics.js'
import { onAllCores } from '../servers/serverProcess.js'
import { startTidegate } from '../servers/tidegateServer.js'
import type { SpecialScenario } from './specialScenario.js'

/** A quarter of a slot of mainnet. */
const secondsMax = 3
/** Least gas of a block that is measured, and how many of those warm up. */
const fullGasMin = 15_000_000
const warmUpBlocks = 10
/** Reads before the first full block. */
const idleReads = 500

interface Measured {
  readonly gas: number
  readonly payloadSeconds: number
  readonly choiceSeconds: number
}

export const engineBlocks: SpecialScenario = {
  name: 'engine',
  title: 'a block of 30 million gas from a consensus client',
  // A start, the reads before, and 34 blocks of 0.2 to 0.3 s each with their choice.
  seconds: () => 15,
  async run({ folder, server: options }) {
    const network = await findNetwork('engine', fullBlocks)
    const secret = randomBytes(32)
    const jwtSecret = join(folder, 'jwt.hex')
    writeFileSync(jwtSecret, secret.toString('hex'))
    const [port] = (await freePorts(1)) as [number]
    const source = { type: 'consensus', port, jwtSecret }
    const moreNetworks = [{ name: 'engine', genesis: network.genesisPath, source }]
    // The execution has a thread of its own, as for a user.
    const server = await startTidegate(folder, [], { ...options, moreNetworks, onCores: onAllCores })
    try {
      const call = engineCaller(`http://127.0.0.1:${port}`, secret)
      const reads = new Reads(new URL('/engine', server.said).href)
      const found: Measured[] = []
      for (const rlp of blocksOf(join(network.folder, 'chain.mdb'))) {
        const measured = await giveAndChoose(call, rlp)
        if (measured.gas < fullGasMin) continue
        if (found.length === 0) await reads.idle()
        found.push(measured)
        if (found.length === warmUpBlocks) reads.begin()
      }
      await reads.end()
      return outcomeOf(found.slice(warmUpBlocks), reads)
    } finally {
      await server.stop()
    }
  },
}

function outcomeOf(found: readonly Measured[], reads: Reads) {
  const times = found.map(({ payloadSeconds }) => payloadSeconds)
  const worst = Math.max(...times)
  const ms = (seconds: number | undefined) =>
    `${((seconds ?? Number.NaN) * 1_000).toFixed(seconds && seconds < 0.01 ? 1 : 0)} ms`
  const gas = found.reduce((sum, measured) => sum + measured.gas, 0)
  const choices = found.map(({ choiceSeconds }) => choiceSeconds)
  const of = (times: readonly number[]) =>
    `${ms(median(times))} (p99 ${ms(
      percentile(
        [...times].sort((a, b) => a - b),
        0.99,
      ),
    )}, worst ${ms(Math.max(...times))})`
  return {
    unit: 'gas',
    own: { rate: gas / times.reduce((sum, time) => sum + time, 0), rateSpread: 0 },
    missed: worst > secondsMax ? [`${secondsMax} s for the slowest block`] : [],
    ratios: {
      slot: { value: secondsMax / worst, by: 'rate' },
      'slot by median': { value: secondsMax / (median(times) ?? Number.NaN), by: 'rate' },
    } as const,
    note:
      `${found.length} blocks of ${(gas / found.length / 1e6).toFixed(1)} million gas: newPayload ${ms(median(times))}, worst ${ms(worst)}; ` +
      `forkchoiceUpdated ${ms(median(choices))}, worst ${ms(Math.max(...choices))}; ` +
      `a read beside them ${of(reads.beside)}, before them ${of(reads.before)}; slot is ${secondsMax} s`,
  }
}

type Call = (method: string, params: readonly unknown[]) => Promise<{ readonly status: string }>

function engineCaller(url: string, secret: Uint8Array): Call {
  return async (method, params) => {
    const token = tokenOf(secret, { iat: Math.floor(Date.now() / 1_000) })
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const response = await fetch(url, { method: 'POST', headers, body: rpc(method, params) })
    const { result, error } = (await response.json()) as { readonly result?: never; readonly error?: object }
    if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return (result as { readonly payloadStatus?: never }).payloadStatus ?? result
  }
}

async function giveAndChoose(call: Call, rlp: Uint8Array): Promise<Measured> {
  const { header, hash } = parseBlock(rlp)
  const params = [payloadOf({ rlp }), [], bytesToHex(header.parentBeaconBlockRoot as Uint8Array), []]
  const chosen = { headBlockHash: bytesToHex(hash), safeBlockHash: zero, finalizedBlockHash: zero }
  const timed = async (method: string, params: readonly unknown[]) => {
    const begunMs = performance.now()
    const { status } = await call(method, params)
    if (status !== 'VALID') throw new Error(`${method}: block ${header.number} is ${status}`)
    return (performance.now() - begunMs) / 1_000
  }
  return {
    gas: Number(header.gasUsed),
    payloadSeconds: await timed('engine_newPayloadV4', params),
    choiceSeconds: await timed('engine_forkchoiceUpdatedV3', [chosen]),
  }
}

const zero = `0x${'00'.repeat(32)}`

/** Blocks of a stored chain after its genesis, as RLP. */
function blocksOf(path: string): readonly Uint8Array[] {
  const store = ChainReader.open({ path })
  try {
    const { number: head } = store.readHead() as { readonly number: number }
    return Array.from({ length: head }, (_, index) => {
      const hash = store.readCanonicalHash(index + 1) as Hash32
      const [header, body] = [store.readHeader(hash), store.readBody(hash)] as [Uint8Array, Uint8Array]
      return encodeRlp([decodeRlpList(header), ...decodeRlpList(body)])
    })
  } finally {
    void store.close()
  }
}

/** One caller who reads a balance at the head repeatedly; seconds of each read. */
class Reads {
  readonly before: number[] = []
  readonly beside: number[] = []
  readonly #url: string
  #isEnded = false
  #running: Promise<void> = Promise.resolve()

  constructor(url: string) {
    this.#url = url
  }

  async idle(): Promise<void> {
    while (this.before.length < idleReads) this.before.push(await this.#read())
  }

  begin(): void {
    this.#running = (async () => {
      while (!this.#isEnded) this.beside.push(await this.#read())
    })()
  }

  end(): Promise<void> {
    this.#isEnded = true
    return this.#running
  }

  async #read(): Promise<number> {
    const begunMs = performance.now()
    // Each request is about a new account, so that no stored answer is sent.
    await askBody(this.#url, rpc('eth_getBalance', [bytesToHex(randomBytes(20)), 'latest']))
    return (performance.now() - begunMs) / 1_000
  }
}
