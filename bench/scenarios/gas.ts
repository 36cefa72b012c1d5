/**
 * The worst-case speed of gas: the state tests of `micro.ndjson.gz` on the kernel in this process, and the blocks of
 * `eest.tar.gz` through the importer. Roots, logs and gas are compared with those in the tests, which are not part of
 * the repository.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { ripemd160 } from '@noble/hashes/legacy.js'
import { type JsonChainTest, runChainTest } from '../../test/blockchainTests/chainTest.js'
import { readTestFiles } from '../../test/stateTests/files.js'
import { type JsonPost, type JsonStateTest, runCase } from '../../test/stateTests/stateTest.js'
import { inColumns, median } from '../report/statistics.js'
import type { SpecialScenario } from './specialScenario.js'

/** Gas of one benchmark and its CPU time. */
export interface GasSpeed {
  readonly name: string
  readonly gas: number
  readonly micros: number
  /** Time of go-ethereum on this machine: the recorded time, scaled. */
  readonly gethMicros?: number | undefined
}

export interface GasFigures {
  /** Speed of this machine relative to that of the recording. */
  readonly scale: number
  readonly speeds: readonly GasSpeed[]
  /** Problems, a line each. */
  readonly problems: readonly string[]
}

/** Rounds of a whole run. */
const roundsWhole = 3
/** Mgas a second below which a benchmark fails: 60 million gas in 6 s, half of a slot. */
const mgasMin = 10
/** Lowest accepted median of the precompiled contracts, as a share of go-ethereum's speed. */
const gethShareMin = 0.3

/** `folder` has the recordings: ../shared/gas-benchmarks unless the command line names another one. */
export function gas(folder: string): SpecialScenario {
  return {
    name: 'gas',
    title: 'the slowest gas',
    seconds: ({ isQuick }) => (isQuick ? 90 : 150),
    async run({ folder: scratch, settings }) {
      const figures = await measureGas(folder, scratch, settings.isQuick ? 1 : roundsWhole)
      return {
        unit: 'Mgas of the slowest',
        own: { rate: Math.min(...figures.speeds.map(mgas)), rateSpread: 0 },
        note: `precompiled contracts ${medianShare(figures.speeds)?.toFixed(2)} × go-ethereum in the median`,
        details: gasTable(figures),
        missed: shortfalls(figures),
      }
    },
  }
}

/**
 * Time of the reference loop: RIPEMD-160 of 10,000 bytes, in JavaScript of a pinned package. On the machine of
 * go-ethereum's recording it takes 133 µs, on another one 70. On that one, the kernel hashed 1.88 times as fast. It
 * recovered keys, divided and multiplied 1.8 to 2.2 times as fast.
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
  // The compiler takes part of the first ones.
  return recordedLoopMicros / Math.min(...times)
}

const mgas = ({ gas, micros }: GasSpeed): number => gas / micros

/** Share of go-ethereum's speed; undefined if that is unknown. */
const shareOf = ({ micros, gethMicros }: GasSpeed) => gethMicros && gethMicros / micros

/** Whether a test of this name calls a precompiled contract, except the identity, which computes nothing. */
export function isOfPrecompile(name: string): boolean {
  return /^(?:bls|bn|blake2f|ecrecover|modexp|p256|ripemd|sha256)/.test(name)
}

export function medianShare(speeds: readonly GasSpeed[]): number | undefined {
  return median(speeds.filter(({ name }) => isOfPrecompile(name)).map(shareOf))
}

/** The goals that the figures miss. */
export function shortfalls({ speeds, problems }: GasFigures): string[] {
  const slow = speeds.filter((speed) => mgas(speed) < mgasMin)
  const share = medianShare(speeds) ?? gethShareMin
  const far = `the median of the precompiled contracts is ${share.toFixed(2)} × go-ethereum, below ${gethShareMin}`
  return [
    ...problems,
    ...slow.map((speed) => `${speed.name}: ${mgas(speed).toFixed(2)} Mgas/s, at least ${mgasMin} wanted`),
    ...(share < gethShareMin ? [far] : []),
  ]
}

/** `folder` has the recordings; `scratch` is for temporary files. The median of `rounds` of each test counts. */
async function measureGas(folder: string, scratch: string, rounds: number): Promise<GasFigures> {
  const speeds: GasSpeed[] = []
  const problems: string[] = []
  const scale = machineScale()
  for (const { name, test, fork, post, gas, gethMicros } of recordedTests(folder)) {
    // The first run compiles.
    const [, ...results] = Array.from({ length: rounds + 1 }, () => runCase(test, fork, post))
    const problem = results.find(({ problem }) => problem !== undefined)?.problem
    if (problem !== undefined) problems.push(`${name}: ${problem}`)
    const micros = median(results.map(({ cpuMicros }) => cpuMicros)) ?? 0
    speeds.push({ name, gas, micros, gethMicros: gethMicros / scale })
  }
  for await (const found of measureChains(join(folder, 'eest.tar.gz'), scratch)) {
    if (typeof found === 'string') problems.push(found)
    else speeds.push(found)
  }
  return { scale, speeds, problems }
}

/** Each test with its gas and the CPU time of go-ethereum on the machine of the recording. */
export function recordedTests(folder: string) {
  const lines = gunzipSync(readFileSync(join(folder, 'micro.ndjson.gz')))
    .toString()
    .trim()
    .split('\n')
  return lines.flatMap((line) => {
    const { name, test } = JSON.parse(line) as { name: string; test: JsonStateTest }
    return Object.entries(test.post).flatMap(([fork, posts]) =>
      (posts as readonly (JsonPost & { readonly gasUsed: string; readonly geth: number })[]).map((post) => {
        const gas = Number(post.gasUsed)
        const gethMicros = post.geth * 1e6
        return { name, test: { ...test, _info: { gasUsed: post.gasUsed } }, fork, post, gas, gethMicros }
      }),
    )
  })
}

/** Blocks with less gas, such as those before the measured one, are ignored. */
const blockGasMin = 10_000_000

/** The slowest block of each test, or a line with a problem. */
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

const nameMax = 70

/** Slowest first. */
export function gasTable(figures: GasFigures): string[] {
  const { speeds, scale } = figures
  const number = (value: number | undefined) =>
    value === undefined ? '–' : value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)
  const rows = [...speeds].sort((a, b) => mgas(a) - mgas(b))
  return [
    ...inColumns([
      ['Mgas a second of CPU', 'here', 'go-ethereum', '×'],
      ...rows.map((speed) => {
        const geth = speed.gethMicros && speed.gas / speed.gethMicros
        return [speed.name.slice(0, nameMax), ...[mgas(speed), geth, shareOf(speed)].map(number)]
      }),
    ]),
    '',
    `Median of the precompiled contracts: ${medianShare(speeds)?.toFixed(2) ?? '–'} × go-ethereum, whose times were recorded on`,
    `a machine ${(1 / scale).toFixed(2)} × as fast as this one, by a reference loop.`,
    ...shortfalls(figures).map((line) => `FAILED ${line}`),
  ]
}
