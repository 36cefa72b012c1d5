/** The tracing kernel's reports of steps and frames. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { Kernel } from '../../../../src/execution/evm/engine/kernel.js'
import { bytesToHex, padLeft } from '../../../../src/primitives/bytes.js'
import { builtPath } from '../../../../src/primitives/packageRoot.js'
import { emptyState } from '../../../library/emptyState.js'
import { assemble } from '../evm/assembly.js'

declare const WebAssembly: {
  readonly Module: { new (bytes: Uint8Array): object; imports(module: object): { readonly module: string }[] }
}

const caller = padLeft(Uint8Array.of(1, 0), 20)
const contract = padLeft(Uint8Array.of(2, 0), 20)
const heir = padLeft(Uint8Array.of(3, 0), 20)

interface Heard {
  readonly lines: string[]
  readonly kernel: Kernel
}

function listen(): Heard {
  const lines: string[] = []
  const kernel = new Kernel({
    step: (step) => {
      const top = step.stackWords === 0 ? '' : ` ${step.stackWord(0)}`
      lines.push(
        `${step.depth} ${step.pc} ${step.opcode.toString(16)} ${step.gas}${top} ${bytesToHex(step.memory)}`,
      )
    },
    enter: ({ kind, target, value, input }) =>
      lines.push(`enter ${kind.toString(16)} ${bytesToHex(target).slice(-4)} ${value} ${bytesToHex(input)}`),
    exit: (failure, _gasLeft, output) => lines.push(`exit ${failure} ${bytesToHex(output)}`),
  })
  return { lines, kernel }
}

function run({ kernel }: Heard, code: Uint8Array, gas: bigint): void {
  kernel.clear()
  kernel.attach('osaka', {
    state: emptyState,
    ancestorHash: () => undefined,
    watch: undefined,
  })
  kernel.begin(caller, 1n, [])
  const account = kernel.account(contract)
  kernel.credit(account, 70n)
  kernel.setCode(account, code)
  kernel.run(kernel.account(caller), account, 0n, 0n, Uint8Array.of(0xaa), gas)
}

t.test('steps come before they cost, with stack and memory as they are', async (t) => {
  const heard = listen()
  run(heard, assemble(0xab, 0, 'MSTORE', 'STOP'), 1_000n)
  const stored = padLeft(Uint8Array.of(0xab), 32)
  t.same(heard.lines, [
    'enter f1 0200 0 0xaa',
    '0 0 60 1000 0x',
    '0 2 60 997 171 0x',
    '0 4 52 994 0 0x',
    `0 5 0 988 ${bytesToHex(stored)}`,
    'exit none 0x',
  ])
})

t.test('each call, creation and end of an account has a beginning and an end', async (t) => {
  const heard = listen()
  const call = (to: bigint, value: number) => [0, 0, 1, 31, value, to, 5_000, 'CALL', 'POP'] as const
  const code = assemble(
    0xab,
    0,
    'MSTORE',
    ...call(4n, 0),
    ...call(5n, 100),
    1,
    31,
    7,
    'CREATE',
    'POP',
    BigInt(bytesToHex(heir)),
    'SELFDESTRUCT',
  )
  run(heard, code, 3_000_000n)
  t.same(
    heard.lines.filter((line) => line.startsWith('e')),
    [
      'enter f1 0200 0 0xaa',
      ...['enter f1 0004 0 0xab', 'exit none 0xab'],
      // The value is more than the contract has.
      ...['enter f1 0005 100 0xab', 'exit insufficientBalance 0x'],
      // The initcode, 0xab, is no instruction.
      ...['enter f0 e84a 7 0xab', 'exit invalidOpcode 0x'],
      ...['enter ff 0300 70 0x', 'exit none 0x'],
      'exit none 0x',
    ],
  )
})

t.test('the kernel that serves has no trace code', async (t) => {
  const modules = (name: string) => {
    const bytes = readFileSync(builtPath(`src/execution/kernel/${name}.wasm`))
    return WebAssembly.Module.imports(new WebAssembly.Module(bytes)).map(({ module }) => module)
  }
  t.same(new Set(modules('kernel')), new Set(['host']))
  t.same(new Set(modules('tracingKernel')), new Set(['host', 'trace']))
})
