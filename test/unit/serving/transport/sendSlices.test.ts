/** Long answers are sent in parts. Tests how many bytes a turn of the event loop passes on, and for which keys. */

import type { HttpResponse } from 'uWebSockets.js'
import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { sentBytesMax, sentBytesPerTurn } from '../../../../src/serving/transport/sendSlices.js'
import { UwsReply } from '../../../../src/serving/transport/uws/uwsReply.js'
import { Dice, propertyRuns } from '../../../library/property.js'
import { test } from '../../../transport/eachTransport.js'
import { call, goodKey, withServer } from './testServer.js'

const MiB = 2 ** 20

/** Bytes that were passed on, by turn of the event loop. */
class Turns {
  readonly bytes = new Map<number, number>()
  turn = 0

  note(bytes: number): void {
    this.bytes.set(this.turn, (this.bytes.get(this.turn) ?? 0) + bytes)
  }

  get most(): number {
    let most = 0
    for (const bytes of this.bytes.values()) most = Math.max(most, bytes)
    return most
  }
}

/** A response object that accepts everything, or at most this number of bytes until it is drained. */
class TestResponse {
  readonly hash = createHash('sha256')
  sent = 0
  endedAt: number | undefined
  parts = 0
  #aborted = () => {}
  #writable: (offset: number) => boolean = () => true

  constructor(
    readonly turns: Turns,
    readonly acceptedMax = Number.POSITIVE_INFINITY,
  ) {}

  readonly res = {
    cork: (work: () => void) => work(),
    onAborted: (aborted: () => void) => {
      this.#aborted = aborted
    },
    onData: () => {},
    onWritable: (writable: (offset: number) => boolean) => {
      this.#writable = writable
    },
    resume: () => {},
    writeStatus: () => {},
    writeHeader: () => {},
    tryEnd: (part: Uint8Array, bytes: number): [boolean, boolean] => {
      this.parts++
      const taken = part.subarray(0, this.acceptedMax)
      this.hash.update(taken)
      this.sent += taken.length
      this.turns.note(taken.length)
      if (this.sent === bytes) this.endedAt = this.turns.turn
      const isTaken = taken.length === part.length
      if (!isTaken) void setImmediate().then(() => this.#writable(this.sent))
      return [isTaken, this.sent === bytes]
    },
  } as unknown as HttpResponse

  abort(): void {
    this.#aborted()
  }
}

function reply(response: TestResponse, keyId: string): UwsReply {
  const made = new UwsReply(response.res, false)
  made.receive({ keyId, take: () => {}, over: () => {} })
  return made
}

const send = (to: UwsReply, body: Uint8Array) =>
  to.send({ status: 200, body: ['{', body, '}'], retryAfterMs: undefined }, [], false)

const digestOf = (body: Uint8Array) => createHash('sha256').update('{').update(body).update('}').digest('hex')

t.test('a turn passes on few bytes, however long answers are and however many', async (t) => {
  for (const bytes of [300 * 1024, MiB, 4 * MiB, 16 * MiB]) {
    for (const count of [1, 16, 64]) {
      for (const acceptedMax of [Number.POSITIVE_INFINITY, 100_000]) {
        if (bytes * count > 256 * MiB || (acceptedMax < MiB && bytes * count > 64 * MiB)) continue
        const turns = new Turns()
        const body = new Uint8Array(bytes).fill(count)
        const responses = Array.from({ length: count }, () => new TestResponse(turns, acceptedMax))
        for (const response of responses) send(reply(response, 'attacker'), body)
        while (responses.some(({ endedAt }) => endedAt === undefined)) {
          await setImmediate()
          turns.turn++
        }
        const what = `${count} of ${bytes} bytes, ${acceptedMax} accepted at once: ${turns.most} in ${turns.bytes.size} turns`
        // A turn sends waiting parts, and parts of answers that come meanwhile.
        t.ok(turns.most <= 2 * sentBytesPerTurn, what)
        const digests = new Set(responses.map(({ hash }) => hash.digest('hex')))
        t.strictSame([...digests], [digestOf(body)], what)
      }
    }
  }
})

t.test('a block goes whole where nobody waits', async (t) => {
  const turns = new Turns()
  const response = new TestResponse(turns)
  send(reply(response, 'a'), new Uint8Array(sentBytesMax - 2))
  t.equal(response.endedAt, 0)
  t.ok(response.parts <= 3, 'itself, and what is around it')
})

t.test("a key's answer waits for a part of each other key, not for all that one has", async (t) => {
  const turns = new Turns()
  const attacks = Array.from({ length: 64 }, () => new TestResponse(turns))
  for (const each of attacks) send(reply(each, 'attacker'), new Uint8Array(4 * MiB))
  const victims = ['a', 'b', 'c'].map((key) => {
    const response = new TestResponse(turns)
    send(reply(response, key), new Uint8Array(2 * sentBytesMax))
    return response
  })
  while (attacks.some(({ endedAt }) => endedAt === undefined)) {
    await setImmediate()
    turns.turn++
  }
  for (const { endedAt } of victims) t.ok((endedAt ?? 99) <= 20, `after ${endedAt} turns`)
  t.ok(turns.turn > 100, 'others wait longer')
})

t.test('an answer whose client left is not sent on', async (t) => {
  const turns = new Turns()
  const responses = Array.from({ length: 8 }, () => new TestResponse(turns))
  for (const each of responses) send(reply(each, 'a'), new Uint8Array(8 * MiB))
  for (const each of responses.slice(1)) each.abort()
  const sent = responses.map((each) => each.sent)
  while (responses[0]?.endedAt === undefined) {
    await setImmediate()
    turns.turn++
  }
  t.strictSame(
    responses.slice(1).map((each) => each.sent),
    sent.slice(1),
  )
})

test('answers of all lengths arrive whole beside each other, also on connections that are used again', async (t) => {
  const { base } = await withServer(t)
  const { numRuns, seed } = propertyRuns(60)
  const dice = new Dice(seed as number)
  const ask = async (characters: number) => {
    const response = await fetch(`${base}/v3/${goodKey}`, {
      method: 'POST',
      body: call('test_bytes', `["0x${characters.toString(16)}"]`),
      headers: { 'content-type': 'application/json' },
    })
    const { result } = (await response.json()) as { readonly result: string }
    if (result !== 'é'.repeat(characters)) t.fail(`${characters} characters`, { seed })
  }
  const lengths = Array.from({ length: numRuns as number }, () => {
    const about = [100, 8_000, 60_000, 131_000, 400_000, 1_500_000][dice.throw(6)] as number
    return about + dice.throw(about)
  })
  let next = 0
  const work = async () => {
    while (next < lengths.length) await ask(lengths[next++] as number)
  }
  await Promise.all(Array.from({ length: 12 }, work))
  t.equal(next, lengths.length)
})
