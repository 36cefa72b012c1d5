// @shares
/** The opcode trace of every transaction of two chains, step by step against @ethereumjs. */
import type { InterpreterStep } from '@ethereumjs/evm'
import type { VM } from '@ethereumjs/vm'
import t from 'tap'
import type { ReplayedBlock } from '../../../src/execution/evm/blocks/blockReplay.js'
import { opcodeNames } from '../../../src/execution/evm/engine/opcodeNames.js'
import { type TracedChain, tracedChains } from '../../chains/tracedChains.js'
import { LibraryExecutor } from '../../library/executeBlock.js'
import { someOf } from '../../library/property.js'

/** An instruction in the form of both engines. */
interface Step {
  readonly pc: number
  readonly op: string
  readonly gas: number
  readonly depth: number
  readonly stack: readonly string[]
}

interface LoggedStep extends Step {
  readonly gasCost: number
  readonly error?: string
  readonly storage?: Readonly<Record<string, string>>
}

const frameOpcodes = ['CREATE', 'CREATE2', 'CALL', 'CALLCODE', 'DELEGATECALL', 'STATICCALL']

for (const [name, chain] of tracedChains) {
  t.test(`${name}: gas, depth, stack and storage are those of @ethereumjs`, async (t) => {
    const library = new LibraryExecutor(chain.replays.schedule)
    let steps = 0
    for (const block of someOf([...chain.blocks()], 60)) {
      const expected = await librarySteps(library, chain, block)
      const traces = chain.trace(block.hash, {
        tracer: 'opcodes',
        enableMemory: false,
        disableStack: false,
        disableStorage: false,
        enableReturnData: false,
        limit: 0,
      })
      for (const [index, trace] of traces.entries()) {
        const logged: LoggedStep[] = trace.structLogs
        const wanted = expected[index]?.steps ?? []
        steps += wanted.length
        const place = `transaction ${index} of block ${block.header.number}`
        if (trace.gas !== expected[index]?.gas) t.fail(`gas of ${place}`)
        const difference = firstDifference(logged, wanted)
        if (difference !== undefined) t.fail(`${place}: ${difference}`)
      }
    }
    t.ok(steps > 1_000, `${steps} steps are the same`)
  })
}

interface TransactionSteps {
  readonly steps: Step[]
  gas: number
}

/** The steps of each transaction, without those of system calls. */
async function librarySteps(
  library: LibraryExecutor,
  chain: TracedChain,
  block: ReplayedBlock,
): Promise<TransactionSteps[]> {
  const transactions: TransactionSteps[] = []
  let current: TransactionSteps | undefined
  const listen = (vm: VM) => {
    const events = vm.evm.events
    const hear = ({ pc, opcode, gasLeft, depth, stack }: InterpreterStep) => {
      current?.steps.push({
        pc,
        op: opcodeNames[opcode.code] as string,
        gas: Number(gasLeft),
        depth: depth + 1,
        stack: stack.map((word) => `0x${word.toString(16)}`),
      })
    }
    const begin = () => {
      current = { steps: [], gas: 0 }
      transactions.push(current)
    }
    const end = ({ totalGasSpent }: { totalGasSpent: bigint }) => {
      if (current !== undefined) current.gas = Number(totalGasSpent)
      current = undefined
    }
    events?.on('step', hear)
    vm.events.on('beforeTx', begin)
    vm.events.on('afterTx', end)
    return () => {
      events?.off('step', hear)
      vm.events.off('beforeTx', begin)
      vm.events.off('afterTx', end)
    }
  }
  const state = chain.replays.stateBefore(block)
  const { fork, ancestorHash } = block.context
  await library.execute(chain.itemsOf(block.hash), fork, state, ancestorHash, listen)
  return transactions
}

function firstDifference(entries: readonly LoggedStep[], wanted: readonly Step[]): string | undefined {
  const logged = withoutEnds(entries, wanted)
  if (logged.length !== wanted.length) return `${logged.length} steps, expected ${wanted.length}`
  for (const [at, step] of logged.entries()) {
    const { pc, op, gas, depth, stack } = step
    const want = wanted[at] as Step
    // The library has one name for all that the fork does not have.
    const name = want.op === 'INVALID' ? want.op : op
    if (JSON.stringify([pc, name, gas, depth, stack]) !== JSON.stringify(Object.values(want))) {
      return `step ${at} is ${JSON.stringify(step)}, expected ${JSON.stringify(want)}`
    }
    const next = wanted[at + 1]
    // The cost of an instruction is the difference to the gas of the next one.
    if (next?.depth === depth && !frameOpcodes.includes(op) && next.gas !== gas - step.gasCost) {
      return `step ${at} costs ${step.gasCost}, expected ${gas - next.gas}`
    }
    const slot = slotOf(step, next)
    if (slot === undefined) {
      if (step.storage !== undefined) return `step ${at} has storage`
      continue
    }
    const [key, value] = slot
    if (step.storage?.[key] !== value)
      return `step ${at} has ${step.storage?.[key]} at ${key}, expected ${value}`
  }
  return undefined
}

/** As go-ethereum, we list the STOP behind the end of code; the library does not. */
function withoutEnds(logged: readonly LoggedStep[], wanted: readonly Step[]): LoggedStep[] {
  const kept: LoggedStep[] = []
  for (const step of logged) {
    const want = wanted[kept.length]
    const isReported = want?.pc === step.pc && want.depth === step.depth && want.op === step.op
    if (step.op !== 'STOP' || isReported) kept.push(step)
  }
  return kept
}

/** The slot and value that an instruction uses; as in go-ethereum, one that could not be paid uses none. */
function slotOf({ op, stack, error }: LoggedStep, next: Step | undefined): [string, string] | undefined {
  const word = (text: string | undefined) => `0x${(text ?? '0x0').slice(2).padStart(64, '0')}`
  if (error !== undefined) return undefined
  if (op === 'SSTORE' && stack.length > 1) return [word(stack.at(-1)), word(stack.at(-2))]
  if (op === 'SLOAD' && stack.length > 0) {
    return [word(stack.at(-1)), word(next?.stack.at(-1))]
  }
  return undefined
}
