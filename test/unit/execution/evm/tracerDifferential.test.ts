/**
 * All tracers on generated code that fails in every way, at every fork. Compares the opcode logger with @ethereumjs,
 * and each tracer with the others. Faults follow the rules of go-ethereum's interpreter (core/vm/interpreter.go). They
 * decide from the error alone whether an instruction was refused or ran. `RUNS=20 SEED=1` compares twenty times as many
 * messages.
 */
import t from 'tap'
import { type ForkName, includesFork } from '../../../../src/data/chain/forks.js'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.js'
import { Dice, propertyRuns, someOf } from '../../../library/property.js'
import { runLibrary, startBalance } from '../kernel/bothEngines.js'
import type { Scenario } from '../kernel/programs.js'
import { everyFailure, throwFailing } from './failingPrograms.js'
import {
  type Json,
  type ReportedCall,
  type ReportedFault,
  type ReportedStep,
  TracedChains,
  type Traces,
  tracedForks,
} from './tracedForks.js'

const chains = await TracedChains.open(t)
const { numRuns = 1, seed = 0 } = propertyRuns(6)

/** The gas before the first instruction of a message without data. */
const intrinsicGas = (fork: ForkName) =>
  includesFork(fork, 'amsterdam') ? 12_000n + 3_000n + 6_000n : 21_000n

function trace({ fork, contracts, caller, to, value, gas }: Scenario): Traces {
  const overrides = contracts.map(({ address, code, balance, slots }) => ({
    address,
    code,
    balance,
    nonce: 1n,
    state: [...slots].map(([key, slot]) => {
      const padded = new Uint8Array(32)
      padded.set(slot, 32 - slot.length)
      return [Buffer.from(key, 'hex'), padded] as const
    }),
  }))
  const message = { from: caller, to, value, gas: gas + intrinsicGas(fork) }
  return chains.traceAll(fork, message, [...overrides, { address: caller, balance: startBalance, nonce: 0n }])
}

const asText = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)

/** Throws if the two differ. */
function same(got: unknown, want: unknown, what: string): void {
  const [a, b] = [got, want].map((value) => JSON.stringify(value, asText))
  if (a !== b) throw new Error(`${what}: ${String(a).slice(0, 600)}, expected ${String(b).slice(0, 600)}`)
}

const creating = (op: string) => op === 'CREATE' || op === 'CREATE2'
const calling = (op: string) => /^(?:CALL|CALLCODE|DELEGATECALL|STATICCALL)$/.test(op)

/** Errors of the result of a creation, which no instruction has. */
const deployErrors = /^(?:invalid code|max code size|contract creation code storage)/

/** Whether the interpreter finds the error before it runs the instruction, so that the step itself has it. */
function isRefusal({ op, gas, gasCost }: ReportedStep, error: string): boolean {
  if (error === 'out of gas') return !(creating(op) && gas >= gasCost)
  if (error.startsWith('out of gas: ') || error === 'gas uint64 overflow') return true
  const [, needed] = /^stack underflow \(\d+ <=> (\d+)\)$/.exec(error) ?? []
  const least = op === 'DUPN' ? 1 : /^(?:SWAPN|EXCHANGE)$/.test(op) ? 2 : Number(needed)
  return (needed !== undefined && Number(needed) === least) || error.startsWith('stack limit reached')
}

/** Walks the calls and the steps at once: each call's steps lie between those of its caller. */
class Walk {
  readonly faults: (readonly [pc: number, op: string, depth: number, error: string])[] = []
  #at = 0

  constructor(
    readonly fork: ForkName,
    readonly steps: readonly ReportedStep[],
  ) {}

  /** Checks a call whose first step is next. */
  call(call: ReportedCall, depth: number): void {
    let count = 0
    let before: { step: ReportedStep; inner: ReportedCall | undefined } | undefined
    let last: ReportedStep | undefined
    for (; this.steps[this.#at]?.depth === depth; ) {
      const step = this.steps[this.#at++] as ReportedStep
      if (before !== undefined) this.#gas(before.step, before.inner, step)
      if (step.gasCost < 0) throw new Error(`a negative cost of ${step.op}`)
      last = step
      const isFailing =
        this.steps[this.#at] === undefined || (this.steps[this.#at] as ReportedStep).depth < depth
      const next = call.calls[count]
      const begins = calling(step.op) || creating(step.op) || step.op === 'SELFDESTRUCT'
      const inner = begins && step.error === undefined && next?.type === step.op ? next : undefined
      if (inner !== undefined) {
        count++
        if (this.steps[this.#at]?.depth === depth + 1) this.call(inner, depth + 1)
      } else if (isFailing && step.op !== 'STOP' && call.error === undefined && step.op !== 'RETURN') {
        throw new Error(`a call that succeeds ends with ${step.op}`)
      }
      before = { step, inner }
    }
    same(count, call.calls.length, `calls of a call at depth ${depth}`)
    if (last !== undefined) this.#end(last, call, depth)
  }

  #end(last: ReportedStep, { error, type }: ReportedCall, depth: number): void {
    const isDeploying = creating(type) && error !== undefined && deployErrors.test(error)
    if (error === undefined || isDeploying) return same(last.error, undefined, 'the last step of a call')
    if (isRefusal(last, error)) same(last.error, error, `a refused ${last.op}`)
    else {
      same(last.error, undefined, `a failing ${last.op}`)
      this.faults.push([last.pc, last.op, depth, error])
    }
  }

  /** The gas left after an instruction and its call. */
  #gas(step: ReportedStep, inner: ReportedCall | undefined, next: ReportedStep): void {
    const hasStateGas = inner !== undefined || step.op === 'SSTORE' || creating(step.op) || calling(step.op)
    if (hasStateGas && includesFork(this.fork, 'amsterdam')) return
    const back = inner === undefined ? 0 : creating(step.op) ? -inner.gasUsed : inner.gas - inner.gasUsed
    same(next.gas, step.gas - step.gasCost + back, `gas after ${step.op} at ${step.pc}`)
  }

  get isOver(): boolean {
    return this.#at === this.steps.length
  }
}

/** The calls of callTracer, in the form that tracers in JavaScript get. */
function compareCalls(reported: ReportedCall, native: Json, isTop: boolean): void {
  const { type, from, to, value, gas, gasUsed, input, error, output, calls } = reported
  const common = { type, from, input, ...(type === 'STATICCALL' ? {} : { value }) }
  const own = native.type === 'STATICCALL' ? {} : { value: native.value }
  same({ type: native.type, from: native.from, input: native.input, ...own }, common, 'a call')
  const isUnpaidFrontier = native.error === undefined && error?.startsWith('contract creation code storage')
  if (!isUnpaidFrontier) same(native.error, error, `the error of ${type}`)
  same(native.to, creating(type) && native.error !== undefined ? undefined : to, 'to')
  if (!isTop) same([Number(native.gas), Number(native.gasUsed)], [gas, gasUsed], `gas of ${type}`)
  const isKept = native.error === undefined || native.error === 'execution reverted'
  same(native.output, isKept && output !== '0x' ? output : undefined, `the output of ${type}`)
  same(native.calls?.length ?? 0, calls.length, 'the number of calls')
  for (const [at, call] of calls.entries()) compareCalls(call, native.calls[at], false)
}

/** Calls in the order in which they begin. */
function* inOrder(call: Json): Generator<Json> {
  yield call
  for (const each of call.calls ?? []) yield* inOrder(each)
}

/** Instructions of a vmTrace, those of calls behind the call. */
function* instructions({ ops }: Json): Generator<readonly [pc: number, op: string]> {
  for (const { pc, op, sub } of ops) {
    yield [pc, op]
    if (sub !== null) yield* instructions(sub)
  }
}

/** Each tracer beside the others. */
function compareTracers(
  fork: ForkName,
  { opcodes, steps, frames, faults, calls, erc7562, flat, replay }: Traces,
) {
  const { structLogs } = opcodes
  const plain = structLogs.map(({ storage: _, returnData: __, ...step }: Json) => step)
  const bare = steps.list.map(({ refund, ...step }) => ({ ...step, ...(refund ? { refund } : {}) }))
  const key = ({ pc, op, gas, gasCost, depth, refund = 0, error, stack, memory = [] }: ReportedStep) =>
    [pc, op, gas, gasCost, depth, refund, error, stack, memory] as const
  for (const [at, step] of bare.entries()) same(key(step), key(plain[at]), `step ${at}`)
  same(plain.length, bare.length, 'the number of steps')
  const { list, error, output } = steps
  const { type, from, to, value, gas, input } = calls
  const frame: ReportedCall = {
    type,
    from,
    to,
    value,
    gas: Number(gas),
    input,
    gasUsed: Number(calls.gasUsed),
    output,
    error,
    calls: [...frames],
  }
  compareCalls(frame, calls, true)
  const walk = new Walk(fork, list)
  walk.call(frame, 1)
  if (!walk.isOver) throw new Error('steps that belong to no call')
  same(
    faults.map((each: ReportedFault) => [each.pc, each.op, each.depth, each.error]),
    walk.faults,
    'faults',
  )
  const all = [...inOrder(calls)]
  for (const [at, call] of [...inOrder(erc7562)].entries()) {
    const { error: own } = all[at]
    same([call.type, call.error], [all[at].type, own], 'a call of erc7562Tracer')
    const isShort = /^(?:out of gas|contract creation code storage out of gas)(?:$|:)/.test(own ?? '')
    same(call.outOfGas, at > 0 && isShort, `outOfGas of ${own}`)
  }
  same(
    flat.map((each: Json) => each.error),
    all.map((each) => each.error),
    'errors of flatCallTracer',
  )
  for (const { error, result, type } of replay.trace) {
    const hasResult = error === undefined ? type !== 'suicide' : error === 'Reverted'
    same(Boolean(result), hasResult, `the result of a ${type} that ends with ${error}`)
  }
  same(
    [...instructions(replay.vmTrace)],
    list.map(({ pc, op }) => [pc, op]),
    'instructions of vmTrace',
  )
  same(replay.output, calls.output ?? '0x', 'the output of a replay')
}

/** The opcode logger beside the library, which reports neither a STOP after the code nor every failing step. */
function compareSteps(
  list: readonly ReportedStep[],
  library: NonNullable<Awaited<ReturnType<typeof runLibrary>>>,
) {
  let next = 0
  for (const [at, step] of list.entries()) {
    const want = library.steps[next]
    const isSame =
      want !== undefined &&
      want.depth + 1 === step.depth &&
      want.pc === step.pc &&
      Number(want.gas) === step.gas &&
      want.stackWords === step.stack.length &&
      BigInt(step.stack.at(-1) ?? 0) === (want.top ?? 0n) &&
      want.memoryBytes === 32 * (step.memory?.length ?? 0)
    if (isSame) next++
    else {
      const endsCall = (list[at + 1]?.depth ?? 0) < step.depth
      if (!endsCall)
        throw new Error(`step ${at} ${JSON.stringify(step)}, the library has ${next}: ${want?.pc}`)
    }
  }
  same(next, library.steps.length, 'steps of the library')
}

/** Accounts before and after, from both prestates, compared with the initial state and the library's result. */
async function compareStates(scenario: Scenario, traces: Traces, state: Json | undefined): Promise<void> {
  const { contracts, caller } = scenario
  const { prestate, diff } = traces
  for (const { address, code, balance, slots } of contracts) {
    const before = prestate[bytesToHex(address)]
    if (before === undefined) continue
    same(
      [before.balance, before.nonce, before.code],
      [hex(balance), 1, bytesToHex(code)],
      'an account before',
    )
    for (const [key, value] of Object.entries(before.storage ?? {}) as [string, string][]) {
      const held = slots.get(key.slice(2))
      same(BigInt(value), BigInt(held === undefined ? 0 : bytesToHex(held)), 'a slot before')
    }
  }
  same(prestate[bytesToHex(caller)]?.balance, hex(startBalance), 'the caller before')
  if (state === undefined) return
  for (const [address, account] of state.accountStack.at(-1) as Map<string, Json>) {
    const pre = diff.pre[address]
    const post = diff.post[address]
    const left = prestate[address]
    // Removed at the end of the transaction, which the library's message has not.
    if (pre !== undefined && post === undefined) continue
    const balance = BigInt(post?.balance ?? left?.balance ?? -1)
    const known = contracts.find((each) => bytesToHex(each.address) === address)?.balance
    const there = account?.balance ?? 0n
    same(String(balance === -1n ? (known ?? 0n) : balance), String(there), `the balance of ${address}`)
  }
}

const hex = (value: bigint) => `0x${value.toString(16)}`

/** Compares all reports about a message. Returns the errors of its calls; throws if something differs. */
async function compare(scenario: Scenario): Promise<string[]> {
  const { fork } = scenario
  const traces = trace(scenario)
  compareTracers(fork, traces)
  const library = includesFork(fork, 'amsterdam') ? undefined : await runLibrary(scenario)
  await compareStates(scenario, traces, library?.state)
  if (library !== undefined) {
    compareSteps(traces.steps.list, library)
    same(traces.opcodes.failed, !library.isSuccess, 'failed')
    same(traces.steps.output, bytesToHex(library.output), 'output')
  }
  return [...inOrder(traces.calls)].flatMap(({ error }) => (error === undefined ? [] : [error]))
}

const forks = someOf(tracedForks, 4)
for (const fork of forks) {
  t.test(`${fork}: each failure that there is`, { timeout: 0 }, async (t) => {
    for (const { error, scenario } of everyFailure(fork)) {
      try {
        const errors = await compare(scenario)
        t.ok(
          errors.some((each) => error.test(each)),
          `${error}: ${errors}`,
        )
      } catch (failure) {
        t.fail(`${error}: ${failure instanceof Error ? failure.message : failure}`)
      }
    }
  })

  t.test(`${fork}: messages by chance`, { timeout: 0 }, async (t) => {
    let failed = 0
    for (let number = 0; number < numRuns; number++) {
      const scenario = throwFailing(new Dice(seed + number), fork)
      try {
        failed += (await compare(scenario)).length
      } catch (error) {
        t.fail(`SEED=${seed + number} RUNS=0.01: ${error instanceof Error ? error.message : error}`)
        break
      }
    }
    t.ok(failed > 0, `${failed} calls that fail`)
  })
}

/** Calls itself with all gas that it may pass on. */
const recursion = hexToBytes('60006000600060006000305af100')
/** Recursion before EIP-150, when a call passed on all gas except its own cost. */
const earlyRecursion = hexToBytes('600060006000600060003060645a03f100')

t.test('the deepest call fails before it begins, and no instruction does', { timeout: 0 }, async (t) => {
  const address = new Uint8Array(20).fill(0xdd)
  for (const fork of forks) {
    const code = includesFork(fork, 'tangerineWhistle') ? recursion : earlyRecursion
    // Since Amsterdam no transaction may have this much execution gas.
    const gas = includesFork(fork, 'amsterdam') ? 30_000_000n : 10n ** 12n
    const message = { to: address, gas }
    const calls = chains.trace(fork, message, [{ address, code }], {
      tracer: 'callTracer',
      onlyTopCall: false,
      withLog: false,
    })
    const all = [...inOrder(calls)]
    const errors = all.flatMap(({ error }) => (error === undefined ? [] : [error]))
    const faults = chains.traceFaults(fork, message, [{ address, code }])
    if (includesFork(fork, 'amsterdam')) t.ok(all.length > 300 && !errors.includes('max call depth exceeded'))
    else {
      t.strictSame([all.length, errors], [1_026, ['max call depth exceeded']], fork)
      t.strictSame(faults, [], fork)
    }
  }
})

t.test('a full stack is told as it is', { timeout: 0 }, async (t) => {
  const address = new Uint8Array(20).fill(0xdd)
  for (const fork of forks) {
    const code = Uint8Array.from(Array(1_025).fill([0x60, 1]).flat())
    const message = { to: address, gas: 100_000n }
    const { error } = chains.trace(fork, message, [{ address, code }], {
      tracer: 'callTracer',
      onlyTopCall: true,
      withLog: false,
    })
    t.equal(error, 'stack limit reached 1024 (1023)', fork)
    t.strictSame(chains.traceFaults(fork, message, [{ address, code }]), [], fork)
  }
})
