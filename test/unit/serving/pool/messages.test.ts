import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'
import t from 'tap'
import { type Fault, FaultError } from '../../../../src/primitives/faults.js'
import {
  decodeArgs,
  decodeReply,
  encodeArgs,
  encodePiece,
  encodeResult,
  encodeThrown,
  JobDefect,
  type JobMessage,
  type JobReply,
  packJobs,
  packReplies,
  post,
  unpackJobs,
  unpackReplies,
} from '../../../../src/serving/pool/messages.js'

t.test('values come out as they went in', async (t) => {
  const value = {
    nothing: null,
    absent: undefined,
    yes: true,
    small: 5n,
    word: 2n ** 256n - 1n,
    negative: -(2n ** 100n),
    block: 2 ** 40,
    text: 'é',
    bytes: Uint8Array.of(1, 2, 3),
    overrides: new Map([['0x1', { slots: new Map([[Uint8Array.of(1).join(), 7n]]) }]]),
    list: [{ slot: Uint8Array.of(9) }, { slot: Uint8Array.of(8) }],
  }
  t.strictSame(decodeArgs(encodeArgs(value)), value)
})

t.test('a message owns its memory and holds nothing else', async (t) => {
  const request = new Uint8Array(5_000_000)
  const bytes = encodeArgs({ address: request.subarray(100, 120) })
  t.equal(bytes.byteLength, bytes.buffer.byteLength)
  t.ok(bytes.byteLength < 100)
  const copy = Uint8Array.from(bytes)
  encodeArgs({ address: request.subarray(0, 20).fill(255) })
  t.strictSame(bytes, copy, 'the next message does not write to it')
})

t.test('the bytes of a result are not copied out of the message', async (t) => {
  const message = encodeResult(new Uint8Array(1_000))
  t.equal((decodeReply(message) as Uint8Array).buffer, message.buffer)
})

t.test('faults cross whole', async (t) => {
  const faults: readonly Fault[] = [
    { kind: 'HeaderNotFound' },
    { kind: 'ExecutionReverted', reason: undefined, data: Uint8Array.of(8, 195) },
    { kind: 'GasExceedsAllowance', allowance: 2n ** 64n },
    { kind: 'StateNotAvailable', stateRoot: '0x00' },
  ]
  for (const fault of faults) {
    try {
      decodeReply(encodeThrown(new FaultError(fault)))
      t.fail('no fault was thrown')
    } catch (thrown) {
      t.ok(thrown instanceof FaultError)
      t.strictSame((thrown as FaultError).fault, fault)
    }
  }
})

t.test('a defect keeps its message and its stack', async (t) => {
  const error = new TypeError('x is not a function')
  try {
    decodeReply(encodeThrown(error))
    t.fail('no defect was thrown')
  } catch (thrown) {
    t.ok(thrown instanceof JobDefect)
    t.match(thrown, { message: error.message, stack: error.stack })
  }
  t.throws(() => decodeReply(encodeThrown('thrown text')), { message: 'thrown text' })
})

t.test('jobs and replies of a group cross in one piece, and what is long without a copy', (t) => {
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  const crossed = <P extends Parameters<typeof post>[1]>(parcel: P): P => {
    post(port1, parcel)
    return receiveMessageOnPort(port2)?.message as P
  }
  const job = (cell: number): JobMessage => ({
    name: 'call',
    network: cell === 0 ? undefined : 'demo',
    args: encodePiece({ value: 2n ** 70n + BigInt(cell) }),
    cell,
    serial: 2 ** 31 - 1,
    runMsMax: 0.5,
    isTrial: cell > 0,
    partsGiven: cell,
  })
  const plain = (list: readonly JobMessage[]) => list.map((one) => ({ ...one, args: decodeArgs(one.args) }))
  const jobs = [job(0), job(1), job(2), job(3)]
  const sent = plain(jobs)
  t.strictSame(plain(unpackJobs(crossed(packJobs(jobs)))), sent)

  const long = encodeResult(new Uint8Array(9_000).fill(7), encodePiece)
  const of = (reply: JobReply['reply'], ms: number): JobReply => ({
    reply,
    ranMs: ms,
    cpuMs: ms / 2,
  })
  const replies = [
    of(encodeResult(1n, encodePiece), 0.25),
    of('long', 1),
    of(long, 2),
    of('unbegun', 0),
    of(encodeResult(2n, encodePiece), 3),
  ]
  const got = unpackReplies(crossed(packReplies(replies)))
  const results = got.map(({ reply }) => (typeof reply === 'string' ? reply : decodeReply(reply)))
  t.strictSame(results, [1n, 'long', new Uint8Array(9_000).fill(7), 'unbegun', 2n])
  t.strictSame(
    got.map(({ ranMs, cpuMs }) => [ranMs, cpuMs]),
    replies.map(({ ranMs, cpuMs }) => [ranMs, cpuMs]),
  )
  t.equal(long.length, 0, 'a long result is moved')
  t.end()
})
