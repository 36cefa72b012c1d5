/** The data that kernels cache between jobs, and the ends of a run. */
import t from 'tap'
import { decodeHeader } from '../../../../src/data/chain/header.js'
import { emptyAccount } from '../../../../src/data/state/account.js'
import type { StateView } from '../../../../src/data/state/stateView.js'
import { ChainReader } from '../../../../src/data/store/chainReader.js'
import { JobWatch } from '../../../../src/execution/evm/engine/jobWatch.js'
import type { Kernel } from '../../../../src/execution/evm/engine/kernel.js'
import { StateKernels } from '../../../../src/execution/evm/engine/stateKernels.js'
import { Execution } from '../../../../src/execution/evm/messages/execution.js'
import { hexToBytes, toHash32 } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { emptyState } from '../../../library/emptyState.js'
import { demoStorePath, storedMessages } from '../../../store/storedMessages.js'
import { assemble } from './assembly.js'
import { addressOf, demoHead, faultOf, goOn, limits } from './demoExecution.js'

/** The address of the code of {@link stateWith}. */
const contract = addressOf(1)

/** A state with one contract whose slots are ones; counts its reads. */
function stateWith(code: Uint8Array, root: number): StateView & { asked: number } {
  return {
    ...emptyState,
    stateRoot: toHash32(new Uint8Array(32).fill(root)),
    asked: 0,
    account(address) {
      this.asked++
      return Buffer.compare(address, contract) === 0
        ? { ...emptyAccount, nonce: 1n, codeHash: keccak256(code) }
        : undefined
    },
    slot() {
      this.asked++
      return Uint8Array.of(1)
    },
    code() {
      this.asked++
      return code
    },
  }
}

function kernelOver(kernels: StateKernels, state: StateView, watch: JobWatch): Kernel {
  const host = { state, ancestorHash: () => undefined, watch }
  const kernel = kernels.over('osaka', host)
  kernel.limitMemory(limits.memoryBytesMax)
  return kernel
}

function run(kernel: Kernel, gas: bigint): string {
  kernel.begin(new Uint8Array(20), 0n, [])
  try {
    const sender = kernel.account(new Uint8Array(20))
    const to = kernel.account(contract)
    return kernel.run(sender, to, 0n, 0n, new Uint8Array(0), gas).failure
  } finally {
    kernel.revert()
  }
}

t.test('a state is asked once for what it holds, whatever the run has changed', (t) => {
  // Reads slot 1, and sets slots 1 and 2.
  const code = assemble(1, 'SLOAD', 7, 1, 'SSTORE', 8, 2, 'SSTORE')
  const kernels = new StateKernels(4)
  const watch = new JobWatch(goOn, limits)
  const states = [1, 2, 3].map((root) => stateWith(code, root))
  for (const state of states) {
    t.equal(run(kernelOver(kernels, state, watch), 100_000n), 'none')
    t.ok(state.asked >= 4, `${state.asked} questions`)
  }
  for (const state of states) {
    state.asked = 0
    for (let i = 0; i < 3; i++) t.equal(run(kernelOver(kernels, state, watch), 100_000n), 'none')
    t.equal(state.asked, 0)
  }
  t.end()
})

t.test('repeated estimates at one head read no account, slot or code', async (t) => {
  const store = ChainReader.open({ path: demoStorePath })
  t.teardown(() => store.close())
  const called = [...storedMessages(store)].findLast(({ logs }) => logs.length > 0)?.message
  if (called === undefined) throw new Error('no message of the demo chain has logs')
  const { from, to, value, data } = called
  let reads = 0
  const counted: ReadonlySet<string | symbol> = new Set(['readAccount', 'readSlot', 'readCode'])
  const counting = new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name) as unknown
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        if (counted.has(name)) reads++
        return Reflect.apply(member, target, args)
      }
    },
  })
  const execution = new Execution(counting, limits)
  const request = {
    block: { ...demoHead, isPending: false },
    message: { from: from as Uint8Array, to: to as Uint8Array, value, data },
    gasDefault: 30_000_000n,
    gasMax: 30_000_000n,
  }
  const first = await execution.estimate(request, goOn)
  t.ok(reads > 2, `${reads} reads`)
  reads = 0
  t.same(await execution.estimate(request, goOn), first)
  t.equal(reads, 0)
  t.ok(decodeHeader(store.readHeader(demoHead.hash) as Uint8Array).number > 0)
})

t.test('rows of one state take no more than their share', (t) => {
  // Reads slot after slot until its gas is used up.
  const code = assemble('JUMPDEST', 'GAS', 'SLOAD', 'POP', 0, 'JUMP')
  const kernels = new StateKernels(4)
  const watch = new JobWatch(goOn, limits)
  const state = stateWith(code, 1)
  const kernel = kernelOver(kernels, state, watch)
  t.equal(run(kernel, 300_000_000n), 'outOfGas')
  t.ok(kernel.cachedBytes > 10 * 2 ** 20, `${kernel.cachedBytes} bytes during the job`)
  kernels.trim()
  t.equal(kernelOver(kernels, state, watch).cachedBytes, 0, 'none for the next')
  t.end()
})

t.test('a run asks whether it may go on, however short its frames are', (t) => {
  let asked = 0
  const watch = new JobWatch(() => ++asked < 0, limits)
  // Calls an account without code, itself, and a creation repeatedly.
  const loops = [
    assemble('JUMPDEST', 0, 0, 0, 0, 5, 'GAS', 'STATICCALL', 'POP', 0, 'JUMP'),
    hexToBytes('5b5f5f5f5f305af4505f56'),
    assemble('JUMPDEST', 0, 0, 0, 'CREATE', 'POP', 0, 'JUMP'),
    assemble('JUMPDEST', 0, 'JUMP'),
  ]
  for (const [index, code] of loops.entries()) {
    const kernel = kernelOver(new StateKernels(4), stateWith(code, 1), watch)
    asked = 0
    t.equal(run(kernel, 20_000_000n), 'outOfGas')
    t.ok(asked >= 50, `loop ${index}: ${asked} times in 20,000,000 gas`)
  }
  t.end()
})

t.test('a kernel that was stopped runs the next message as if nothing had been', async (t) => {
  const code = assemble('JUMPDEST', 1, 'GAS', 'SSTORE', 0, 'JUMP')
  const state = stateWith(code, 1)
  const kernels = new StateKernels(4)
  let left = 5
  const watch = new JobWatch(() => left-- < 0, limits)
  const stopped = kernelOver(kernels, state, watch)
  t.match(await faultOf((async () => run(stopped, 10n ** 9n))()), { kind: 'ExecutionTimedOut' })
  t.equal(stopped.cachedBytes, 0)
  const kernel = kernelOver(kernels, state, new JobWatch(goOn, limits))
  t.equal(run(kernel, 100_000n), 'sentryReached')
  const failing: StateView = {
    ...state,
    slot: () => {
      throw new Error('the store is gone')
    },
  }
  t.throws(() => run(kernelOver(new StateKernels(4), failing, new JobWatch(goOn, limits)), 10n ** 6n), {
    message: 'the store is gone',
  })
})
