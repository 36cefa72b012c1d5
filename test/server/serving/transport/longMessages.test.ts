/**
 * Long messages of WebSockets go in fragments, one in each turn of the event loop. Other clients are served between
 * them. Events and answers of the same connection keep their order and their bytes.
 */
import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type { AnswerBody } from '../../../../src/serving/rpc/answers/answer.js'
import { sentBytesMax, sentBytesPerTurn } from '../../../../src/serving/transport/sendSlices.js'
import { SocketSends } from '../../../../src/serving/transport/socketSends.js'
import type { SocketWire } from '../../../../src/serving/transport/wire.js'
import { Dice, propertyRuns } from '../../../library/property.js'
import { until } from '../../../library/until.js'
import { test } from '../../../transport/eachTransport.js'
import { rawWebSocket, frame as requestFrame } from '../../../transport/socketClient.js'
import { path, withSocketServer } from '../../../unit/serving/transport/socketServer.js'
import { call, echo, echoed } from '../../../unit/serving/transport/testServer.js'

const MiB = 2 ** 20

/** A connection that accepts everything, or a number of bytes of each send until the next turn. */
class TestWire implements SocketWire {
  unsentBytes = 0
  /** Complete messages that were sent. */
  readonly messages: string[] = []
  /** Turn of the event loop → bytes that were passed on. */
  readonly turns: number[] = []
  sends: SocketSends | undefined
  readonly #parts: Uint8Array[] = []

  constructor(
    readonly clock: { turn: number },
    readonly acceptedMax = Number.POSITIVE_INFINITY,
  ) {}

  send(message: AnswerBody | Uint8Array): void {
    if (this.#parts.length > 0) throw new Error('a message between the fragments of another one')
    const pieces = message instanceof Uint8Array || typeof message === 'string' ? [message] : message
    const bytes = Buffer.concat(pieces.map((piece) => Buffer.from(piece)))
    this.#note(bytes.length)
    this.messages.push(bytes.toString())
  }

  sendFragment(part: Uint8Array, isFirst: boolean, isLast: boolean): void {
    if (isFirst !== (this.#parts.length === 0)) throw new Error('a fragment in the wrong place')
    this.#note(part.length)
    this.#parts.push(new Uint8Array(part))
    if (isLast) this.messages.push(Buffer.concat(this.#parts.splice(0)).toString())
  }

  #note(bytes: number): void {
    const { turn } = this.clock
    this.turns[turn] = (this.turns[turn] ?? 0) + bytes
    if (bytes <= this.acceptedMax) return
    this.unsentBytes += bytes - this.acceptedMax
    void setImmediate().then(() => {
      this.unsentBytes = 0
      this.sends?.goOn()
    })
  }

  ping(): void {}
  pause(): void {}
  resume(): void {}
  end(): void {}
  cut(): void {}
}

function sendsOver(wire: TestWire, flow: string): SocketSends {
  wire.sends = new SocketSends(wire, flow, () => {})
  return wire.sends
}

async function untilSent(clock: { turn: number }, sends: readonly SocketSends[]): Promise<void> {
  while (sends.some(({ unsentBytes }) => unsentBytes > 0)) {
    await setImmediate()
    clock.turn++
  }
}

t.test('a turn passes on few bytes, however long messages are and however many', async (t) => {
  for (const bytes of [20_000, 200_000, 4 * MiB]) {
    for (const acceptedMax of [Number.POSITIVE_INFINITY, 100_000]) {
      const clock = { turn: 0 }
      const wires = Array.from({ length: 32 }, () => new TestWire(clock, acceptedMax))
      const sends = wires.map((wire) => sendsOver(wire, 'attacker'))
      const body = 'x'.repeat(bytes)
      for (const each of sends) each.send(['{', Buffer.from(body), '}'])
      await untilSent(clock, sends)
      const sums = Array.from({ length: clock.turn + 1 }, (_, turn) =>
        wires.reduce((sum, { turns }) => sum + (turns[turn] ?? 0), 0),
      )
      const most = Math.max(...sums)
      t.ok(most <= 2 * sentBytesPerTurn, `${bytes} bytes: ${most} in one of ${clock.turn} turns`)
      for (const { messages } of wires) t.ok(messages.length === 1 && messages[0] === `{${body}}`)
    }
  }
})

t.test("a key's message waits for a part of each other key, not for all that one has", async (t) => {
  const clock = { turn: 0 }
  const attacks = Array.from({ length: 64 }, () => sendsOver(new TestWire(clock), 'attacker'))
  for (const each of attacks) each.send([Buffer.alloc(4 * MiB)])
  const victim = sendsOver(new TestWire(clock), 'victim')
  victim.send([Buffer.alloc(2 * sentBytesMax)])
  await untilSent(clock, [victim])
  t.ok(clock.turn <= 20, `after ${clock.turn} turns`)
  const waiting = attacks.filter(({ unsentBytes }) => unsentBytes > 0)
  t.ok(waiting.length > 32, 'others wait longer')
  for (const each of attacks) each.forget()
})

t.test('messages of every length keep their order and their bytes', async (t) => {
  const { numRuns, seed } = propertyRuns(40)
  const dice = new Dice(seed as number)
  for (let run = 0; run < (numRuns as number); run++) {
    const clock = { turn: 0 }
    const wire = new TestWire(clock, dice.throw(2) === 0 ? Number.POSITIVE_INFINITY : 1 + dice.throw(300_000))
    const sends = sendsOver(wire, 'a')
    const sent: string[] = []
    const event = Buffer.alloc(300_000)
    for (let at = 0; at < 1 + dice.throw(12); at++) {
      const pieces = Array.from({ length: 1 + dice.throw(5) }, (_, piece) => {
        const length = dice.throw([2, 100, 20_000, 40_000, 700_000][dice.throw(5)] as number)
        return `${at}.${piece}${['é', 'x'][dice.throw(2)]?.repeat(length)}`
      })
      const isEvent = dice.throw(3) === 0
      const text = isEvent ? (pieces[0] as string).slice(0, 150_000) : pieces.join('')
      sent.push(text)
      // Events share their memory.
      if (isEvent) sends.send(event.subarray(0, event.write(text)))
      else sends.send(pieces.map((piece) => (dice.throw(2) === 0 ? piece : Buffer.from(piece))))
      event.fill(0)
      if (dice.throw(3) === 0) await setImmediate()
    }
    await untilSent(clock, [sends])
    const isSame =
      wire.messages.length === sent.length && wire.messages.every((text, at) => text === sent[at])
    if (!isSame) t.fail(`run ${run}`, { seed })
  }
  t.pass(`seed ${seed}`)
})

test('others are answered before the long messages of a key are through', async (t) => {
  const { connect, post } = await withSocketServer(t)
  const attackers = await Promise.all(Array.from({ length: 16 }, () => connect()))
  const neighbour = await connect()
  for (const client of attackers) client.send(call('test_bytes', '["0x300000"]'))
  const through = () => attackers.filter(({ received }) => received.length > 0).length
  t.equal(await neighbour.ask(echo), echoed)
  t.ok(through() < 8, `over a WebSocket, when ${through()} of 16 messages were through`)
  const response = await post(`/v3/${path.split('/').at(-1)}`, echo)
  t.equal(await response.text(), echoed, 'and over HTTP')
  const digests = new Set<string>()
  for (const client of attackers) {
    const text = (await client.next()) ?? ''
    digests.add(createHash('sha256').update(JSON.parse(text).result).digest('hex'))
  }
  t.strictSame([...digests], [createHash('sha256').update('é'.repeat(0x300000)).digest('hex')])
})

test('what a connection gets beside a long message comes before or after it, and pongs within', async (t) => {
  const { port } = await withSocketServer(t)
  const socket = await rawWebSocket(port, path)
  t.teardown(() => socket.destroy())
  const frames: { readonly first: number; readonly length: number }[] = []
  let unread = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    unread = Buffer.concat([unread, chunk])
    for (;;) {
      const short = (unread[1] ?? 0) & 0x7f
      const head = short < 126 ? 2 : short === 126 ? 4 : 10
      if (unread.length < head) return
      const length =
        short < 126 ? short : short === 126 ? unread.readUInt16BE(2) : Number(unread.readBigUInt64BE(2))
      if (unread.length < head + length) return
      frames.push({ first: unread[0] as number, length })
      unread = unread.subarray(head + length)
    }
  })
  const text = 1
  const ping = 9
  for (const id of ['1', '2', '3']) {
    const body = id === '1' ? call('test_bytes', '["0x200000"]', id) : call('test_echo', '["x"]', id)
    socket.write(requestFrame(text, Buffer.from(body)))
    socket.write(requestFrame(ping, Buffer.from(id)))
  }
  const isPong = ({ first }: { first: number }) => first === 0x8a
  const data = () => frames.filter((each) => !isPong(each))
  const isEnd = ({ first }: { first: number }) => first >= 0x80
  await until(() => data().filter(isEnd).length === 3 && frames.filter(isPong).length === 3)
  const firsts = data().map(({ first }) => first)
  // First fragment, further ones, the last one, then two whole messages.
  t.match(Buffer.from(firsts).toString('hex'), /^01(00)+808181$/)
  for (const { length } of frames) t.ok(length <= sentBytesMax + 100_000, `${length} bytes`)
})
