import fc from 'fast-check'
import t from 'tap'
import { KernelMemory } from '../../../../src/execution/evm/engine/kernelMemory.js'
import { KernelStep } from '../../../../src/execution/evm/engine/kernelTrace.js'
import { StackJson } from '../../../../src/execution/evm/tracers/stackJson.js'
import { propertyRuns } from '../../../library/property.js'

const stackMax = 1024

/** Words that differ in one part alone, often. */
const word = fc.oneof(
  fc.constantFrom(0n, 1n, 2n ** 255n, 2n ** 256n - 1n),
  fc.nat(255).map((shift) => 1n << BigInt(shift)),
  fc.bigInt(0n, 2n ** 256n - 1n),
)

/** Changes of a stack: words that go, words that come, and one that changes at some depth. */
const change = fc.record({
  popped: fc.oneof(fc.nat(3), fc.nat(stackMax)),
  pushed: fc.array(word, { maxLength: 4 }),
  deep: fc.option(fc.tuple(fc.nat(stackMax), word), { nil: undefined }),
  /** Another frame has its stack at another place. */
  frame: fc.nat(2),
})

t.test('after any change the JSON is that of the whole stack', async (t) => {
  const memory = new KernelMemory({ buffer: new ArrayBuffer(256 * 1024) })
  const lengths = fc.constantFrom(0, 3, stackMax)
  fc.assert(
    fc.property(lengths, fc.array(change, { maxLength: 30 }), (length, changes) => {
      const json = new StackJson()
      const stack = Array.from({ length }, (_, i) => BigInt(i))
      return changes.every(({ popped, pushed, deep, frame }) => {
        stack.length = Math.max(0, stack.length - popped)
        stack.push(...pushed.slice(0, stackMax - stack.length))
        if (deep !== undefined && deep[0] < stack.length) stack[deep[0]] = deep[1]
        const stackAt = 64 + frame * stackMax * 32
        for (const [i, word] of stack.entries()) memory.putWord(stackAt + i * 32, word)
        const step = new KernelStep(memory, 1, 0, 0, 0, 0n, stackAt, stack.length, 0, 0)
        const words = stack.map((word) => `"0x${word.toString(16)}"`)
        return Buffer.from(json.of(step)).toString() === `,"stack":[${words.join()}]`
      })
    }),
    propertyRuns(200),
  )
  t.pass()
})
