/**
 * The slowest benchmarks on a running server: as messages of `eth_call` and `eth_simulateV1`, and in blocks that a
 * developer chain makes and another store imports.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Common, createCommonFromGethGenesis } from '@ethereumjs/common'
import { createLegacyTx } from '@ethereumjs/tx'
import { parseBlock } from '../../src/ingest/block.js'
import { parseGenesis } from '../../src/ingest/genesis.js'
import { ChainImporter } from '../../src/ingest/importer.js'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.js'
import { ChainWriter } from '../../src/store/chainWriter.js'
import { keysUpTo, mergedConfig, testGenesis } from '../../test/ingest/chainMaker.js'
import { askResult } from '../load/rpc.js'
import type { RunContext } from '../scenarios/specialScenario.js'
import { type ServerProcess, ticksPerSecond } from '../servers/serverProcess.js'
import { startTidegate } from '../servers/tidegateServer.js'
import { type GasFigures, type GasSpeed, mgas } from './gasSpeed.js'
import { type GasTest, gasTests, isOfPrecompile } from './gasTests.js'

/** So many of the slowest are asked for; each costs some seconds. */
const worstCount = 6
/** What one transaction may have since Osaka (EIP-7825). */
const transactionGas = 16_000_000
const transactionsPerBlock = 3
const blockGas = 60_000_000

const toHex = (value: number) => `0x${value.toString(16)}`

export async function measureServed(
  folder: string,
  speeds: readonly GasSpeed[],
  context: RunContext,
): Promise<Pick<GasFigures, 'speeds' | 'problems'>> {
  const worst = worstOf(gasTests(folder), speeds)
  const genesisPath = join(context.folder, 'gas.json')
  const config = { ...mergedConfig(), osakaTime: 0 }
  const contracts = worst.map(({ code }, at) => [addressAt(at), { balance: '0x0', code }])
  const genesis = testGenesis(config, { gasLimit: toHex(blockGas), difficulty: '0x0' })
  const alloc = { ...(genesis as { alloc: object }).alloc, ...Object.fromEntries(contracts) }
  const full = JSON.stringify({ ...genesis, alloc })
  const common = createCommonFromGethGenesis(JSON.parse(full), { chain: 'gas' })
  writeFileSync(genesisPath, full)
  const network = { name: 'gas', genesis: genesisPath, source: { type: 'develop', blockSeconds: 3_600 } }
  const server = await startTidegate(context.folder, [], { ...context.server, moreNetworks: [network] })
  try {
    const url = new URL('/gas', server.said).href
    const found: GasSpeed[] = []
    const problems: string[] = []
    const blocks: Uint8Array[] = []
    const attempt = async (name: string, measure: () => Promise<GasSpeed | undefined>) => {
      try {
        const speed = await measure()
        if (speed !== undefined) found.push(speed)
      } catch (error) {
        problems.push(`${name}: ${(error as Error).message}`)
      }
    }
    for (const [at, { name }] of worst.entries()) {
      const call = { to: addressAt(at), gas: toHex(transactionGas) }
      const [asCall, asSimulation] = [`eth_call of ${name}`, `eth_simulateV1 of ${name}`]
      await attempt(asCall, () => timed(server, asCall, () => failing(url, [call, 'latest'])))
      const blockStateCalls = Array(transactionsPerBlock).fill({ calls: [call] })
      await attempt(asSimulation, () =>
        timed(
          server,
          asSimulation,
          () => askResult(url, 'eth_simulateV1', [{ blockStateCalls }, 'latest']),
          3,
        ),
      )
      await attempt(`block of ${name}`, async () => {
        blocks.push(hexToBytes(await makeBlock(url, at, common)))
        return undefined
      })
    }
    const speeds = await importBlocks(join(context.folder, 'gas.mdb'), full, blocks)
    for (const [at, speed] of speeds.entries()) found.push({ ...speed, name: `import of ${worst[at]?.name}` })
    return { speeds: found, problems }
  } finally {
    await server.stop()
  }
}

const addressAt = (at: number) => `0x${(0xc0de00 + at).toString(16).padStart(40, '0')}`

/** Names and code of the slowest tests of Osaka. */
function worstOf(tests: readonly GasTest[], speeds: readonly GasSpeed[]) {
  const speedOf = new Map(speeds.map((speed) => [speed.name, mgas(speed)]))
  return tests
    .filter(({ name, fork }) => fork === 'Osaka' && isOfPrecompile(name))
    .sort((a, b) => (speedOf.get(a.name) ?? 0) - (speedOf.get(b.name) ?? 0))
    .slice(0, worstCount)
    .map(({ name, test }) => {
      const code = test.pre[test.transaction.to as string]?.code
      if (code === undefined) throw new Error(`${name} calls no contract`)
      return { name, code }
    })
}

/** CPU of the whole server for `count` times {@link transactionGas} that run out. */
async function timed(
  server: ServerProcess,
  name: string,
  run: () => Promise<unknown>,
  count = 1,
): Promise<GasSpeed> {
  // The first one compiles.
  await run()
  const before = server.cpuSeconds() ?? 0
  await run()
  const micros = ((server.cpuSeconds() ?? 0) - before) * 1e6
  return { name, gas: count * transactionGas, micros: Math.max(micros, 1e6 / ticksPerSecond) }
}

/** A call that must end for want of gas. */
async function failing(url: string, params: readonly unknown[]): Promise<void> {
  const error = await askResult(url, 'eth_call', params).then(
    () => 'it did not fail',
    (error: Error) => error.message,
  )
  if (!/out of gas/.test(error)) throw new Error(error)
}

let nonce = 0

/** Has a block made of transactions that use up their gas; its RLP. */
async function makeBlock(url: string, at: number, common: Common): Promise<string> {
  const [key] = keysUpTo(1) as [Uint8Array]
  for (let n = 0; n < transactionsPerBlock; n++) {
    const fields = { nonce: nonce++, gasPrice: 10n ** 10n, gasLimit: transactionGas, to: addressAt(at) }
    const raw = createLegacyTx(fields as never, { common })
      .sign(key)
      .serialize()
    await askResult(url, 'eth_sendRawTransaction', [bytesToHex(raw)])
  }
  await askResult(url, 'evm_mine', [])
  const block = (await askResult(url, 'eth_getBlockByNumber', ['latest', false])) as { gasUsed: string }
  if (Number(block.gasUsed) !== transactionsPerBlock * transactionGas) {
    throw new Error(`a block has ${Number(block.gasUsed)} gas`)
  }
  return (await askResult(url, 'debug_getRawBlock', ['latest'])) as string
}

/** Imports blocks into a new store in this process; CPU time of each. */
async function importBlocks(path: string, genesis: string, blocks: readonly Uint8Array[]) {
  const { identity, blockDiff, schedule } = parseGenesis(genesis)
  const store = ChainWriter.openForWriting({ path, mapBytes: 2 ** 28 })
  try {
    store.initialize(identity, blockDiff)
    store.beginBatch()
    const importer = new ChainImporter(store, schedule)
    const speeds: Omit<GasSpeed, 'name'>[] = []
    for (const rlp of blocks) {
      const before = process.cpuUsage()
      const block = parseBlock(rlp)
      await importer.importAsHead(block)
      const { user, system } = process.cpuUsage(before)
      speeds.push({ gas: Number(block.header.gasUsed), micros: user + system })
    }
    await store.commitBatch()
    return speeds
  } finally {
    await store.close()
  }
}
