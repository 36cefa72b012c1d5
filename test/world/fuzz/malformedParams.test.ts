/**
 * Every method with wrong parameters at every place, over HTTP and over a WebSocket. Every answer is JSON-RPC and no
 * defect. RUNS makes it longer, SEED repeats a run.
 */
import t from 'tap'
import { Dice, runsFactor } from '../../library/property.js'
import { startRollup } from '../../rollup/rollupService.js'
import type { AnyEntry } from '../../rpc/methodEntry.js'
import { methodTable } from '../../rpc/methodTable.js'
import { rollupMethodTable } from '../../rpc/rollupMethodTable.js'
import { type RpcAnswer, reportsOf, type Service, startService } from '../../service/service.js'
import { SocketClient } from '../../transport/socketClient.js'

const seed = Number(process.env.SEED ?? Date.now() & 0x7fffffff)
const dice = new Dice(seed)
/** Calls of each method, over each transport. */
const runs = Math.ceil(50 * runsFactor)
/** Calls of one batch. */
const batchCalls = 50

/** A number that JSON can have, but a double cannot represent. */
const beyond = '@1e400'
const hexOf = (digits: number) => `0x${'a'.repeat(digits)}`
const oddValues: readonly unknown[] = [
  null, true, false, 0, -1, -0, 1.5, 5, 2 ** 53, 2 ** 64, 1e21, beyond,
  '', '0x', '0X1', '0x0', '0x00', '0x1', '-0x1', '0xg', hexOf(1), hexOf(16), hexOf(17), hexOf(40), hexOf(41), hexOf(63), hexOf(64),
  hexOf(65), hexOf(66), hexOf(5_000), 'ff'.repeat(32), '9'.repeat(5_000), 'latest', 'pending', 'safe', 'earliest', 'Latest',
  'logs', 'newHeads', 'syncing', 'uint256', 'bytes', 'mapping', 'a[', 'a[0', 'a["', 'a..b', 'ä', '\ud800', '\u0000', ' ', '__proto__',
  'constructor', 'x'.repeat(3_000), [], [[]], [null], {}, { '': {} }, { length: 3 }, { blockHash: 1 }, { blockNumber: [] },
  JSON.parse('{"__proto__":1}'), { toString: 1, valueOf: null }, { toJSON: 'x' }, Array(1_100).fill('0x1'), [[[[[[[['0x1']]]]]]]],
] // biome-ignore format: a table

function oddValue(): unknown {
  const odd = oddValues[dice.throw(oddValues.length)]
  switch (dice.throw(8)) {
    case 0:
      return [odd, oddValue()]
    case 1:
      return { [String(dice.throw(4))]: odd }
    default:
      return odd
  }
}

const memberNames = [
  'from',
  'data',
  'type',
  'chainId',
  'authorizationList',
  'blobVersionedHashes',
  'toBlock',
  'code',
  'proof',
]

/** The value with one part of it changed at random. */
function changed(value: unknown): unknown {
  if (dice.throw(3) === 0 || typeof value !== 'object' || value === null) return oddValue()
  if (Array.isArray(value)) {
    const at = dice.throw(value.length + 1)
    const rest = [value.slice(0, at), value.slice(at + 1)] as const
    switch (dice.throw(4)) {
      case 0:
        return [...rest[0], ...rest[1]]
      case 1:
        return [...value, oddValue()]
      default:
        return [...rest[0], changed(value[at]), ...rest[1]]
    }
  }
  const names = Object.keys(value)
  const name = names[dice.throw(names.length)] ?? ''
  const { [name]: member, ...others } = value as Record<string, unknown>
  switch (dice.throw(5)) {
    case 0:
      return others
    case 1:
      return { ...value, [memberNames[dice.throw(memberNames.length)] ?? '']: oddValue() }
    case 2:
      return { ...others, [JSON.stringify(oddValue()).slice(1, 70)]: member }
    default:
      return { ...others, [name]: changed(member) }
  }
}

function oddParams(right: readonly unknown[]): unknown {
  const place = dice.throw(right.length + 1)
  switch (dice.throw(12)) {
    case 0:
      return oddValue()
    case 1:
      return { invoke_transaction: oddValue(), transaction_hash: oddValue() }
    case 2:
      return right.slice(0, place)
    case 3:
      return [...right, oddValue()]
    default:
      return right.map((value, i) => (i === place ? changed(value) : value))
  }
}

function callText(method: string, params: unknown, id: number): string {
  const text = JSON.stringify({ jsonrpc: '2.0', id, method, params })
  return text.replace(/"@(1e400)"(?!:)/g, '$1')
}

/** The faults of the answer to a batch. */
function complaints(text: string | undefined, calls: readonly string[]): string[] {
  const answers: RpcAnswer[] = JSON.parse(text ?? 'null')
  if (!Array.isArray(answers) || answers.length !== calls.length)
    return [`${calls.length} calls, such as ${calls[0]}: ${text}`]
  return answers.flatMap((answer, i) => {
    const isRight =
      answer.jsonrpc === '2.0' &&
      answer.id === i &&
      'result' in answer !== 'error' in answer &&
      answer.error?.code !== -32603
    return isRight ? [] : [`${calls[i]} → ${JSON.stringify(answer)}`]
  })
}

async function ask(t: Tap, service: Service, entries: Readonly<Record<string, AnyEntry>>): Promise<void> {
  t.comment(`seed ${seed}; repeat with SEED=${seed}`)
  const socket = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/ws`)
  for (const [method, { full }] of Object.entries(entries)) {
    const wrong: string[] = []
    const codes = new Map<unknown, number>()
    const check = (text: string | undefined, calls: readonly string[]) => {
      wrong.push(...complaints(text, calls))
      if (wrong.length > 0) return
      for (const { error } of JSON.parse(text ?? '[]') as RpcAnswer[]) {
        codes.set(error?.code, (codes.get(error?.code) ?? 0) + 1)
      }
    }
    for (let done = 0; done < runs; done += batchCalls) {
      const calls = dice.times(batchCalls, () => oddParams(full[dice.throw(full.length)] ?? []))
      const texts = calls.map((params, id) => callText(method, params, id))
      check((await service.post('/', `[${texts.join()}]`)).text, texts)
      check(await nextAnswer(socket, `[${texts.join()}]`), texts)
    }
    t.same(wrong.slice(0, 3), [], method)
    t.ok((codes.get(-32602) ?? 0) > 0, `${method}: ${JSON.stringify([...codes])}`)
  }
  socket.socket.close()
}

type Tap = {
  comment(text: string): void
  same(a: unknown, b: unknown, c: string): void
  ok(a: unknown, b: string): void
}

/** The answer to a message; skips events of subscriptions that earlier messages made. */
async function nextAnswer(socket: SocketClient, text: string): Promise<string | undefined> {
  socket.send(text)
  for (;;) {
    const message = await socket.next()
    if (message === undefined || !message.includes('"method":')) return message
    if (message.startsWith('[')) return message
  }
}

t.test('methods of a chain', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  await ask(t, service, methodTable)
  t.strictSame(reportsOf(service.said.err), [])
})

t.test('methods of a rollup', async (t) => {
  const service = await startRollup(t)
  await ask(t, service, rollupMethodTable)
  t.strictSame(reportsOf(service.said.err), [])
})
