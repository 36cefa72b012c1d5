/**
 * Finds the thread that makes the text of long answers. Text made by the listening thread is a string; text that it
 * only passes on or caches is bytes. So the number of characters measures its work.
 */
import t from 'tap'
import { bytesPerUnit } from '../../../src/serving/rpc/contexts/price.js'
import { RequestContext } from '../../../src/serving/rpc/contexts/requestContext.js'
import { examples } from '../../rpc/demoChain.js'
import { demoEndpoint, opened } from '../../unit/serving/rpc/demoRig.js'

const endpoint = demoEndpoint(opened)
/** Text around results, and results that are short. */
const textMax = 20_000
const sizes = [1_000, 32 * 1024, 256 * 1024, 2 ** 20, 2 * 2 ** 20]
const to = `0x${'ee'.repeat(20)}`

/** Code that returns or reverts with this number of bytes of memory, after `before`. */
function ending(bytes: number, opcode: 'f3' | 'fd', before = ''): string {
  return `0x${before}62${bytes.toString(16).padStart(6, '0')}5f${opcode}`
}

/** Stores the beginning of `Error(string)` with a reason of this number of bytes. */
function reasonOf(bytes: number): string {
  const store = (at: number, word: string) => `7f${word}61${at.toString(16).padStart(4, '0')}52`
  const hex = (value: number) => value.toString(16).padStart(64, '0')
  return (
    store(0, `08c379a0${'0'.repeat(56)}`) +
    store(4, hex(32)) +
    store(36, hex(bytes)) +
    store(68, '61'.repeat(32))
  )
}

const call = (code: string) => [{ to, gas: '0x1312d00' }, 'latest', { [to]: { code } }] as const

const block = examples.blocks.reduce((a, b) =>
  (b.transactions ?? 0) > (a.transactions ?? 0) ? b : a,
) as never as {
  readonly number: number
}
const number = `0x${block.number.toString(16)}`

/** Method and the part that makes it long → parameters for a result of about this number of bytes, before hex. */
const table: Readonly<Record<string, (bytes: number) => readonly unknown[]>> = {
  'eth_call returns': (bytes) => call(ending(bytes, 'f3')),
  'eth_call reverts': (bytes) => call(ending(bytes, 'fd')),
  'eth_call reverts with a reason': (bytes) => call(ending(bytes, 'fd', reasonOf(Math.max(bytes - 68, 1)))),
  'eth_estimateGas reverts': (bytes) => call(ending(bytes, 'fd')),
  // Reads slots 0, 1, 2 and so on: 70 bytes of text each, of a thousand of them.
  'eth_createAccessList lists': (bytes) => {
    const slots = Math.min(1_000, Math.ceil(bytes / 70))
    return call(`0x5f5b80545060010180${`63${slots.toString(16).padStart(8, '0')}`}11600157`)
  },
  'eth_callMany returns': (bytes) => {
    const [message, , overrides] = call(ending(bytes, 'f3'))
    return [[{ transactions: [message] }], { blockNumber: 'latest', transactionIndex: -1 }, overrides]
  },
  'eth_simulateV1 returns': (bytes) => {
    const [message, , stateOverrides] = call(ending(bytes, 'f3'))
    return [{ blockStateCalls: [{ calls: [message], stateOverrides }] }, 'latest']
  },
  'debug_traceCall returns': (bytes) => {
    const [message, id, stateOverrides] = call(ending(bytes, 'f3'))
    return [message, id, { stateOverrides, tracer: 'callTracer' }]
  },
  'eth_getBlockByNumber full': () => [number, true],
  'eth_getBlockReceipts all': () => [number],
  'eth_getLogs all': () => [{ fromBlock: '0x0', toBlock: 'latest' }],
  'debug_getRawBlock all': () => [number],
  'debug_getRawReceipts all': () => [number],
  'debug_executionWitness all': () => [number],
  'debug_traceBlockByNumber all': () => [number, { tracer: 'callTracer' }],
  'eth_getProof of slots': (bytes) => [
    to,
    Array.from({ length: Math.min(1_024, bytes / 100) }, (_, at) => `0x${at.toString(16)}`),
    'latest',
  ],
}

for (const [name, paramsOf] of Object.entries(table)) {
  t.test(`${name}: the listening thread makes little text`, async (t) => {
    const [method = '', how = ''] = name.split(' ')
    const isSized = how !== 'all'
    for (const size of isSized ? sizes : [0]) {
      const caller = new RequestContext(undefined, { key: { id: '0123456789ab' } })
      const params = paramsOf(size)
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const answer = await endpoint.handle(Buffer.from(body), caller)
      const pieces = typeof answer.body === 'string' ? [answer.body] : answer.body
      let text = 0
      let bytes = 0
      for (const piece of pieces) {
        if (typeof piece === 'string') text += piece.length
        else bytes += piece.length
      }
      const whole = Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString()
      t.ok(
        text <= textMax,
        `${name}, ${size}: ${text} characters of text and ${bytes} bytes: ${whole.slice(0, 150)}`,
      )
      if (answer.rest !== undefined) answer.rest.stream.cancel()
      else {
        const { result, error } = JSON.parse(whole)
        const isError = how.startsWith('revert')
        t.equal(error === undefined, !isError, JSON.stringify(error)?.slice(0, 200))
        const isLong = /returns$|reverts/.test(name) && size > 0
        if (isLong) t.ok(whole.length >= 2 * size, `${whole.length} bytes`)
        if (name === 'eth_call returns') t.equal(result, `0x${'00'.repeat(size)}`)
        if (isError) t.equal(error.data.length, 2 * size + 2)
        if (isError) t.ok(error.message.length < textMax)
        // Each paid unit covers some bytes; the other units are charged.
        const units = caller.takeSpent()
        t.ok(units >= Math.floor(bytes / bytesPerUnit) - 1, `${units} units for ${bytes} bytes`)
      }
      caller.finish()
    }
  })
}
