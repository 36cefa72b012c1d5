/**
 * Speed of the EVM in WebAssembly, in this process: workloads compared with @ethereumjs, single opcodes, its start.
 */
import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { concatBytes } from '../../src/primitives/bytes.js'
import { emptyState, headState, type StateView } from '../../src/state/stateView.js'
import { ChainReader } from '../../src/store/chainReader.js'
import { onKernel, onLibrary, type RunOnce } from './kernelEngines.js'
import { codeAddress, opcodeWorks, type Workload, workloads } from './kernelWorkloads.js'

/** One workload on both engines. */
export interface Speed {
  readonly name: string
  readonly gas: number
  readonly micros: number
  readonly libraryMicros: number
}

export interface KernelFigures {
  readonly speeds: readonly Speed[]
  /** Nanoseconds of each opcode, by name. */
  readonly opcodes: readonly (readonly [name: string, ns: number])[]
  /** In a new thread: time to compile the module, and times of the token transfers number {@link startNumbers}. */
  readonly compileMs: number
  readonly firstMicros: readonly number[]
}

const rounds = 5

/** Numbers of a thread's first messages that are reported. */
export const startNumbers = [1, 2, 10, 100, 1_000, 5_000] as const

/** Mean time of a run in each round, in µs, shortest first. */
function timesOf(run: RunOnce, roundMs: number): number[] {
  for (const end = performance.now() + roundMs; performance.now() < end; ) run()
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    let runs = 0
    const start = performance.now()
    for (const end = start + roundMs; performance.now() < end; runs++) run()
    times.push(((performance.now() - start) * 1_000) / runs)
  }
  return times.sort((a, b) => a - b)
}

async function libraryTimeOf(run: () => Promise<bigint>, roundMs: number): Promise<number> {
  await run()
  let runs = 0
  const start = performance.now()
  for (const end = start + roundMs; performance.now() < end; runs++) await run()
  return ((performance.now() - start) * 1_000) / runs
}

export async function measureKernel(storePath: string, roundMs: number): Promise<KernelFigures> {
  const state = openHead(storePath)
  const speeds: Speed[] = []
  for (const workload of workloads) {
    const run = onKernel(state, workload)
    const gas = Number(run())
    const library = await onLibrary(state, workload)
    if (Number(await library()) !== gas) throw new Error(`the engines differ on ${workload.name}`)
    const micros = timesOf(run, roundMs)[rounds >> 1] as number
    speeds.push({
      name: workload.name,
      gas,
      micros,
      libraryMicros: await libraryTimeOf(library, 2 * roundMs),
    })
  }
  return { speeds, opcodes: measureOpcodes(roundMs / 4), ...(await measureStart(storePath)) }
}

/** Repetitions of an opcode in the measured code. */
const repeats = 400

/**
 * Nanoseconds of each opcode: code that repeats pushes of its operands, the opcode and POPs of its results, minus the
 * same code without the opcode. From the best round, because the differences are single nanoseconds.
 */
function measureOpcodes(roundMs: number): [string, number][] {
  const time = (...parts: readonly Uint8Array[]) => {
    const workload = straight(concatBytes(...parts))
    const run = onKernel(emptyState, workload)
    if (run() === workload.gas) throw new Error('the code of an opcode fails')
    return ((timesOf(run, roundMs)[0] as number) * 1_000) / repeats
  }
  const copies = (...body: readonly number[]) => concatBytes(...Array(repeats).fill(Uint8Array.from(body)))
  const empty = time()
  const push = time(copies(0x5f)) - empty
  const pop = time(copies(0x5f), copies(0x50)) - empty - push
  const jumps = Array.from({ length: repeats }, (_, n) =>
    Uint8Array.of(0x61, (n * 5 + 4) >> 8, (n * 5 + 4) & 255, 0x56, 0x5b),
  )
  const jump = time(...jumps) - empty
  const figures: [string, number][] = [
    ['POP', pop],
    ['PUSH2 JUMP JUMPDEST', jump],
    ['PUSH32', time(copies(0x7f, ...Array(32).fill(1), 0x50)) - empty - pop],
  ]
  for (const { name, opcode, taken, left, last } of opcodeWorks) {
    const operands = taken === 0 ? [] : [last, ...Array(taken - 1).fill(0x5f)]
    const body = copies(...operands, opcode, ...Array(left).fill(0x50))
    figures.push([name, time(body) - empty - taken * push - left * pop])
  }
  return figures
}

function straight(code: Uint8Array): Workload {
  return { name: '', to: codeAddress, data: new Uint8Array(0), gas: 100_000_000n, code }
}

/** The state at the head of the demo chain. */
export function openHead(storePath: string): StateView {
  return headState(ChainReader.open({ path: storePath }), emptyState.stateRoot)
}

async function measureStart(storePath: string): Promise<Pick<KernelFigures, 'compileMs' | 'firstMicros'>> {
  const worker = new Worker(new URL('./kernelStart.js', import.meta.url), { workerData: storePath })
  return new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
}

export function kernelTable({ speeds, opcodes, compileMs, firstMicros }: KernelFigures): string[] {
  const line = (name: string, cells: readonly string[]) =>
    name.padEnd(24) + cells.map((cell) => cell.padStart(14)).join('')
  const cells = opcodes.map(([name, ns]) => `${name} ${ns.toFixed(ns < 100 ? 1 : 0)}`)
  const size = readFileSync(new URL('../../src/kernel/kernel.wasm', import.meta.url)).length
  return [
    line('', ['gas', 'µs', 'Mgas/s', '@ethereumjs µs', '×']),
    ...speeds.map(({ name, gas, micros, libraryMicros }) =>
      line(name, [
        String(gas),
        micros.toFixed(1),
        (gas / micros).toFixed(0),
        libraryMicros.toFixed(0),
        (libraryMicros / micros).toFixed(0),
      ]),
    ),
    '',
    'ns of each opcode, with operands of zero:',
    ...Array.from({ length: Math.ceil(cells.length / 6) }, (_, at) =>
      cells
        .slice(at * 6, at * 6 + 6)
        .map((cell) => cell.padEnd(22))
        .join(''),
    ),
    '',
    `A new thread compiles ${(size / 1_000).toFixed(0)} KB in ${compileMs.toFixed(1)} ms; its token transfers take ${firstMicros.map((micros, at) => `${micros.toFixed(0)} µs (${startNumbers[at]})`).join(', ')}`,
  ]
}
