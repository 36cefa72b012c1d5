/**
 * Gas per second of CPU: each test of `gasTests.ts` on the kernel in this process, and the blocks of `eest.tar.gz`
 * through the importer. Roots, logs and gas are compared with those that the tests hold.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ripemd160 } from '@noble/hashes/legacy.js'
import { type JsonChainTest, runChainTest } from '../../test/blockchainTests/chainTest.js'
import { readTestFiles } from '../../test/stateTests/files.js'
import { runCase } from '../../test/stateTests/stateTest.js'
import { median } from '../report/statistics.js'
import { type GasTest, gasTests, isOfPrecompile } from './gasTests.js'

/** Gas of one benchmark and the CPU time that it takes. */
export interface GasSpeed {
  readonly name: string
  readonly gas: number
  readonly micros: number
  /** Of go-ethereum, as this machine would take: what was recorded, scaled. */
  readonly gethMicros?: number | undefined
}

export interface GasFigures {
  /** How many times as fast this machine is as that of the recording. */
  readonly scale: number
  readonly speeds: readonly GasSpeed[]
  /** What went wrong, a line each. */
  readonly problems: readonly string[]
}

/**
 * The reference loop: RIPEMD-160 of 10,000 bytes, in JavaScript of a pinned package, that nothing here changes. On the
 * machine where go-ethereum was recorded it takes 133 µs: on another one, where it took 70, the kernel of that day
 * hashed 1.88 times as fast as there, and recovered keys, divided and multiplied 1.8 to 2.2 times as fast.
 */
const recordedLoopMicros = 133
const loopBytes = 10_000

const cpuMicros = () => {
  const { user, system } = process.cpuUsage()
  return user + system
}

function machineScale(): number {
  const data = new Uint8Array(loopBytes).fill(1)
  const rounds = 200
  const times = Array.from({ length: 7 }, () => {
    const before = cpuMicros()
    for (let round = 0; round < rounds; round++) ripemd160(data)
    return (cpuMicros() - before) / rounds
  })
  // Of the first ones the compiler takes a part.
  return recordedLoopMicros / Math.min(...times)
}

/** Mgas a second below which a benchmark fails: 60 million gas in 6 s, half of a slot. */
export const mgasMin = 10
/** The least median of the precompiled contracts, as a share of go-ethereum's speed. */
export const gethShareMin = 0.3

export const mgas = ({ gas, micros }: GasSpeed): number => gas / micros

/** Share of go-ethereum's speed; undefined where that is not known. */
export const shareOf = ({ micros, gethMicros }: GasSpeed): number | undefined =>
  gethMicros === undefined ? undefined : gethMicros / micros

export function medianShare(speeds: readonly GasSpeed[]): number | undefined {
  const shares = speeds.filter(({ name }) => isOfPrecompile(name)).map(shareOf)
  return median(shares.filter((share) => share !== undefined))
}

/** What the figures fall short of. */
export function shortfalls({ speeds, problems }: GasFigures): string[] {
  const slow = speeds.filter((speed) => mgas(speed) < mgasMin)
  const share = medianShare(speeds)
  return [
    ...problems,
    ...slow.map((speed) => `${speed.name}: ${mgas(speed).toFixed(2)} Mgas/s, at least ${mgasMin} wanted`),
    ...(share !== undefined && share < gethShareMin
      ? [
          `the median of the precompiled contracts is ${share.toFixed(2)} × go-ethereum, below ${gethShareMin}`,
        ]
      : []),
  ]
}

/** `folder` holds the recordings, `scratch` may be written to. Of `rounds` of each test the median counts. */
export async function measureGas(folder: string, scratch: string, rounds: number): Promise<GasFigures> {
  const speeds: GasSpeed[] = []
  const problems: string[] = []
  const scale = machineScale()
  for (const test of gasTests(folder)) {
    const { name, gas, gethMicros } = test
    const { micros, problem } = measureTest(test, rounds)
    if (problem !== undefined) problems.push(`${name}: ${problem}`)
    speeds.push({ name, gas, micros, gethMicros: gethMicros && gethMicros / scale })
  }
  for await (const found of measureChains(join(folder, 'eest.tar.gz'), scratch)) {
    if (typeof found === 'string') problems.push(found)
    else speeds.push(found)
  }
  return { scale, speeds, problems }
}

function measureTest({ test, fork, post }: GasTest, rounds: number) {
  // The first run compiles.
  const [, ...results] = Array.from({ length: rounds + 1 }, () => runCase(test, fork, post))
  const micros = median(results.map(({ cpuMicros }) => cpuMicros)) ?? 0
  return { micros, problem: results.find(({ problem }) => problem !== undefined)?.problem }
}

/** Blocks with less gas, as those before the measured one, say nothing. */
const blockGasMin = 10_000_000

/** Of each test its slowest block, or a line that says what is wrong. */
async function* measureChains(path: string, scratch: string): AsyncGenerator<GasSpeed | string> {
  const folder = mkdtempSync(join(scratch, 'gas-'))
  let count = 0
  for await (const file of readTestFiles(path)) {
    for (const [name, test] of Object.entries(JSON.parse(file.text) as Record<string, JsonChainTest>)) {
      const shortName = name.replace(/^.*::/, '').replace(/fork_|-blockchain_test|-benchmark/g, '')
      const store = join(folder, String(count++))
      let slowest: GasSpeed | undefined
      const problem = await runChainTest(test, store, (gas, micros) => {
        const speed = { name: shortName, gas, micros }
        if (gas < blockGasMin) return
        if (slowest === undefined || mgas(speed) < mgas(slowest)) slowest = speed
      })
      rmSync(store, { recursive: true, force: true })
      if (problem !== undefined) yield `${shortName}: ${problem}`
      if (slowest !== undefined) yield slowest
    }
  }
}
