/** The attacks; each runs until its process ends. Requests that could be cached differ each time. */
import { randomBytes } from 'node:crypto'
import { Agent } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { toQuantity } from '../../src/primitives/bytes.js'
import { frame } from '../../test/transport/socketClient.js'
import { addressOf, calldata, fullBlock, headNumber, slots, word } from '../data/demoFacts.js'
import { batch, rpc } from '../load/rpc.js'
import { type Attack, type AttackTools, ended, write } from './attackTools.js'
import { bomb, code, executing, precompileBombs, precompileLoop } from './bombs.js'
import { exchange } from './exchange.js'
import {
  bodyBytesMax,
  hardTexts,
  malformedRequests,
  malformedTexts,
  messageBytesMax,
  notText,
} from './probes.js'
import { subscriptionAttacks } from './subscriptionAttacks.js'
import { answerKind, lookedAtBytes } from './tally.js'

const tide = addressOf('Tide')
const { address, slot } = slots[0] as (typeof slots)[number]
const cachedRead = rpc('eth_getStorageAt', [address, slot, 'latest'])
const full = toQuantity(fullBlock.number)
/** Opcodes of frames: RFC 6455, section 5.2. */
const textFrame = 0x1
const pingFrame = 0x9
const mebibyte = 2 ** 20

/** Returns the items in rotation. */
function inTurn<T>(items: readonly T[]): () => T {
  let at = 0
  return () => items[at++ % items.length] as T
}

function times<T>(count: number, make: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => make(at))
}

function loop(tools: AttackTools): () => string {
  const method = inTurn(executing)
  return () => bomb(tools.serial(), code.loop, '', method())
}

function proof(tools: AttackTools, keys: number): string {
  return rpc('eth_getProof', [tide, times(keys, () => word(tools.serial())), 'latest'])
}

function mappingSlots(tools: AttackTools, count: number, levels: number): string {
  const keys = times(count, () => times(levels, () => word(tools.serial())))
  return rpc('tidegate_getMappingSlot', [keys, '0x3'])
}

function storageByKeys(tools: AttackTools, block: string): string {
  const keys = times(10_000, () => word(tools.serial()))
  return rpc('tidegate_getStorageByKeys', [tide, '0x3', keys, block])
}

function post(tools: AttackTools, body: string, headers = `content-length: ${body.length}`): string {
  return `POST ${tools.path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${headers}\r\n\r\n${body}`
}

/** Sends bytes on a connection of its own and waits for its end, for a limited time. */
async function sendAlone(tools: AttackTools, bytes: string | Uint8Array): Promise<void> {
  const connection = await tools.connect()
  tools.readStatuses(connection)
  await write(connection, bytes)
  await Promise.race([ended(connection), setTimeout(200)])
  connection.destroy()
}

/** Writes the same bytes on `count` WebSockets, and again each time `answers` answers have arrived. */
function floodSockets(tools: AttackTools, count: number, bytes: Uint8Array, answers: number): void {
  tools.repeat(count, async () => {
    const { socket, connection } = await tools.openSocket()
    let due = 0
    const isAnswered = () => {
      if (--due === 0) connection.emit('answered')
    }
    socket.on('message', isAnswered)
    socket.on('pong', isAnswered)
    while (!connection.destroyed) {
      due = answers
      const answered = new Promise((resolve) => connection.once('answered', resolve))
      await write(connection, bytes)
      await Promise.race([answered, ended(connection)])
    }
  })
}

/** Sends pieces while the sum of all bytes stays below `bytesMax`, then keeps the connection open until its end. */
function unfinished(
  tools: AttackTools,
  connections: number,
  bytesMax: number,
  begin: () => Promise<{ readonly connection: Socket; readonly pieces: number }>,
): void {
  const piece = Buffer.alloc(mebibyte, 0x20)
  let sent = 0
  tools.repeat(connections, async () => {
    const { connection, pieces } = await begin()
    for (let at = 0; at < pieces && sent < bytesMax; at++) {
      sent += piece.length
      await write(connection, piece)
    }
    await ended(connection)
    tools.tally.add('closed')
  })
}

/** A token without a valid signature (RFC 7519); only checking the signature shows that. */
function wrongToken(tools: AttackTools): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const exp = Math.floor(Date.now() / 1_000) + 600
  const head = part({ alg: 'ES256', kid: tools.neighbour })
  return `${head}.${part({ exp, jti: tools.serial() })}.${randomBytes(64).toString('base64url')}`
}

/** A filter of 46 KB; no two are alike. */
function logFilter(tools: AttackTools, at: number): string {
  const addresses = times(1_000, () => `0x${tools.serial().toString(16).padStart(40, '0')}`)
  return rpc('eth_subscribe', ['logs', { address: addresses, ...(at % 2 === 0 && { fromBlock: '0x1' }) }])
}

function attack(name: string, title: string, drive: Attack['drive']): Attack {
  return { name, title, drive }
}

export const attacks: readonly Attack[] = [
  { ...attack('loop', 'endless loop, 1 connection', (tools) => tools.ask(1, loop(tools))), isAlone: true },
  attack('loops', 'endless loops, 16 connections', (tools) => tools.ask(16, loop(tools))),
  attack('trials', 'calls about as long as may be tried, 16 connections', (tools) => {
    // Rounds of 89 gas each: short, nearly the whole budget, and far more.
    const rounds = inTurn([1_000, 2_200, 20_000])
    tools.ask(16, () => {
      const data = calldata('burn(uint256)', [rounds()]) + word(tools.serial()).slice(2)
      return rpc('eth_call', [{ to: addressOf('Burner'), data }, 'latest'])
    })
  }),
  attack('memory', 'executions that take memory', (tools) => {
    const { loop: _, ...others } = code
    const next = inTurn(Object.values(others))
    tools.ask(16, () => bomb(tools.serial(), next()))
  }),
  attack('precompiles', 'precompiled contracts that take long', (tools) => {
    const next = inTurn(precompileBombs)
    tools.ask(16, () => {
      const { address, data, sizeMax } = next()
      return bomb(tools.serial(), precompileLoop(address), data(sizeMax))
    })
  }),
  attack('probes', 'malformed and deeply nested requests', (tools) => {
    const text = inTurn([...malformedTexts, notText])
    const hard = inTurn(hardTexts(bodyBytesMax))
    const bytes = inTurn(malformedRequests(tools.path))
    const message = inTurn([...malformedTexts, ...hardTexts(messageBytesMax)])
    tools.ask(8, () => text()())
    tools.ask(4, () => hard()())
    tools.repeat(8, () => sendAlone(tools, bytes()()))
    tools.repeat(2, async () => {
      const { connection } = await tools.openSocket()
      while (!connection.destroyed) {
        const payload = Buffer.from(message()())
        await write(connection, frame(textFrame, payload))
        await setTimeout(50)
      }
    })
  }),
  attack('proofs', 'proofs of 1,024 keys, mapping slots of 10,000', (tools) => {
    tools.ask(8, () => proof(tools, 1_024))
    tools.ask(8, () => mappingSlots(tools, 10_000, 4))
  }),
  attack('batches', 'batches of 1,000 blocks and receipts', (tools) => {
    const next = inTurn([
      batch(times(1_000, () => ['eth_getBlockReceipts', [full]])),
      batch(times(1_000, () => ['eth_getBlockByNumber', [full, true]])),
    ])
    tools.ask(16, next)
  }),
  attack('values', 'values of 10,000 mapping keys', (tools) => {
    const block = inTurn(['latest', toQuantity(fullBlock.number)])
    tools.ask(16, () => storageByKeys(tools, block()))
  }),
  attack('queues', 'every queue of jobs full', (tools) => {
    tools.ask(600, loop(tools))
    tools.ask(1_100, () => proof(tools, 64))
    tools.ask(150, () => mappingSlots(tools, 1_000, 1))
  }),
  attack('floods', 'floods of reads, pages, empty messages and pings', (tools) => {
    const next = inTurn([post(tools, cachedRead), 'GET /health HTTP/1.1\r\nhost: x\r\n\r\n'])
    tools.repeat(32, async () => {
      const connection = await tools.connect()
      tools.readStatuses(connection)
      const reads = next().repeat(200)
      while (!connection.destroyed) await write(connection, reads)
    })
    const many = 100_000
    const frames = (opcode: number, text: string) =>
      Buffer.concat(times(many, () => frame(opcode, Buffer.from(text))))
    floodSockets(tools, 4, frames(textFrame, '{}'), many)
    floodSockets(tools, 4, frames(pingFrame, ''), many)
  }),
  attack('tokens', "wrong tokens with the id of a neighbour's key", (tools) => {
    const { origin } = tools.urlOf('')
    const agent = new Agent({ keepAlive: true, maxSockets: 16 })
    // A new path each time, since a token may be the last segment of a path.
    tools.repeat(16, async () => {
      const url = new URL(`/v3/${wrongToken(tools)}`, origin)
      const { status, text } = await exchange(url, agent, cachedRead, lookedAtBytes)
      tools.tally.add(`${status} ${answerKind(text)}`)
    })
  }),
  attack('traces', 'witnesses and filters of traces', (tools) => {
    const block = inTurn(times(headNumber, (at) => toQuantity(at + 1)))
    tools.ask(8, () => rpc('debug_executionWitness', [block()]))
    tools.ask(8, () => rpc('trace_filter', [{ fromBlock: '0x1', toBlock: block(), count: tools.serial() }]))
  }),
  attack('filters', '8,400 filters of 1,000 addresses', (tools) => {
    tools.repeat(12, async () => {
      const { connection } = await tools.openSocket()
      for (let at = 0; at < 700; at++)
        await write(connection, frame(textFrame, Buffer.from(logFilter(tools, at))))
      await ended(connection)
    })
  }),
  attack('readers', 'readers that stop', (tools) => {
    const receipts = rpc('eth_getBlockReceipts', [full])
    const messages = times(250, () => receipts)
    tools.repeat(12, async () => tools.neverRead(await tools.openSocket(), messages))
    tools.repeat(64, async () => {
      const connection = await tools.connect()
      connection.pause()
      while (!connection.destroyed) await write(connection, post(tools, receipts))
      tools.tally.add('closed')
    })
  }),
  attack('unfinished', 'messages and bodies that never end', (tools) => {
    unfinished(tools, 120, 2_048 * mebibyte, async () => {
      const { connection } = await tools.openSocket()
      await write(connection, frame(textFrame, Buffer.alloc(0), { length: 31 * mebibyte }))
      return { connection, pieces: 30 }
    })
    unfinished(tools, 120, 512 * mebibyte, async () => {
      const connection = await tools.connect()
      tools.readStatuses(connection)
      await write(connection, post(tools, '', `content-length: ${bodyBytesMax}`))
      return { connection, pieces: 4 }
    })
    const chunks = '1\r\n \r\n'.repeat(10_000)
    tools.repeat(16, async () => {
      const connection = await tools.connect()
      tools.readStatuses(connection)
      await write(connection, post(tools, '', 'transfer-encoding: chunked'))
      while (!connection.destroyed) await write(connection, chunks)
    })
  }),
  ...subscriptionAttacks,
]
