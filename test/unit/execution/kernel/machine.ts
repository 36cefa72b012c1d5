import { Kernel } from '../../../../src/execution/evm/engine/kernel.js'
import { concatBytes } from '../../../../src/primitives/bytes.js'
import { emptyState } from '../../../library/emptyState.js'

const kernel = new Kernel()
const sender = new Uint8Array(20).fill(1)
const contract = new Uint8Array(20).fill(2)

/** Runs code on an empty state by the newest rules, and returns its result. Throws if it fails. */
export function runCode(code: Uint8Array, input = new Uint8Array(0)): Uint8Array {
  kernel.clear()
  kernel.attach('osaka', {
    state: {
      stateRoot: new Uint8Array(32) as never,
      account: () => undefined,
      slot: () => undefined,
      slotsOf: () => [],
      code: () => undefined,
      tries: emptyState.tries,
      hasRows: false,
    },
    ancestorHash: () => undefined,
    precompiles: { numbers: new Map(), warm: new Map(), runs: new Map() },
    watch: undefined,
  })
  kernel.begin(sender, 0n, [])
  const account = kernel.account(contract)
  kernel.setCode(account, code)
  const { failure } = kernel.run(kernel.account(sender), account, 0n, 0n, input, 10_000_000n)
  if (failure !== 'none') throw new Error(failure)
  return kernel.output
}

const push32 = 0x7f

/** A word on the stack. */
export function push(value: bigint): Uint8Array {
  return Uint8Array.from([push32, ...Buffer.from(value.toString(16).padStart(64, '0'), 'hex')])
}

/** MSTORE at 0 and RETURN of the word. */
const returnTop = Uint8Array.of(0x60, 0x00, 0x52, 0x60, 0x20, 0x60, 0x00, 0xf3)

/** The result of an instruction whose first operand is on top. */
export function evaluate(opcode: number, operands: readonly bigint[]): bigint {
  const code = concatBytes(...[...operands].reverse().map(push), Uint8Array.of(opcode), returnTop)
  return BigInt(`0x${Buffer.from(runCode(code)).toString('hex')}`)
}
