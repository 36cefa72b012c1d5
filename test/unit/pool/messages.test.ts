import t from 'tap'
import {
  decodeArgs,
  decodeReply,
  encodeArgs,
  encodeResult,
  encodeThrown,
  JobDefect,
} from '../../../src/pool/messages.js'
import { type Fault, FaultError } from '../../../src/primitives/faults.js'

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
