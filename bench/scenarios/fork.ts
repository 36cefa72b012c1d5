/**
 * A fork of a chain beside `anvil --fork-url` on the same node, on loopback. A suite reads slots and contracts, and calls
 * and swaps through an exchange. It runs on a new folder, and again on the same one after a restart.
 */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { encodeAbi } from '../../data/devnet/abi.js'
import { compileContracts } from '../../data/devnet/contracts.js'
import { bytesToHex, concatBytes, hexToBytes, toQuantity } from '../../src/primitives/bytes.js'
import { keccak256 } from '../../src/primitives/keccak.js'
import { anvilProgram } from '../../test/upstream/anvilProgram.js'
import { calldata, devnetFolder, word } from '../data/demoFacts.js'
import { programPath } from '../data/networks.js'
import { askBody, batch, resultsOf, rpc } from '../load/rpc.js'
import { compareSides, type Round, roundOf, sideOfRounds } from '../report/outcome.js'
import { findDifference } from '../servers/anvil.js'
import { onAllCores, type ServerProcess, startServer } from '../servers/serverProcess.js'
import { Skipped, type SpecialScenario } from './specialScenario.js'

const slots = 300
const contracts = 40
const quotes = 20
const swaps = 10
/** A receipt is asked for once, unless its block is not made yet. */
const requests = slots + contracts + quotes + 2 * swaps + 3
/** Each round starts four processes. */
const roundsMax = 5
const secondsOfRound = 15
/** Number of the variable `balanceOf` of the token. */
const balancesAt = 3
const sentTogether = 50

const addressAt = (start: string, at: number) => `0x${start.repeat(18)}${(0x1000 + at).toString(16)}`
const holderAt = (at: number) => addressAt('ab', at)
const contractAt = (at: number) => addressAt('cd', at)
const codeAt = (at: number) => `0x60${(16 + at).toString(16)}00`
const upTo = (count: number) => Array.from({ length: count }, (_, at) => at)

interface Base {
  readonly url: string
  readonly block: number
  readonly trader: string
  readonly token: string
  readonly exchange: string
}

/** Tools by the command that forks, on a folder that both runs have. */
type Fork = (base: Base, home: string, nodeFlags: readonly string[]) => Promise<ServerProcess>

const forks = {
  tidegate: ({ url, block }, home, nodeFlags) =>
    startServer(
      [
        process.execPath,
        ...nodeFlags,
        programPath,
        'dev',
        '--port',
        '0',
        '--log-level',
        'error',
        '--fork',
        `${url}@${block}`,
        '--data',
        join(home, 'fork'),
      ],
      /listens on (http:\S+)/,
    ),
  anvil: async ({ url, block }, home) => {
    const program = anvilProgram()
    if (program === undefined)
      throw new Skipped('the package @foundry-rs/anvil has no program for this machine')
    // Its answers are cached below the home folder.
    const flags = ['--port', '0', '--fork-url', url, '--fork-block-number', String(block)]
    const server = await startServer(
      ['env', `HOME=${home}`, program, ...flags],
      /^Listening on (127\.0\.0\.1:\d+)/,
    )
    return { ...server, said: `http://${server.said}/` }
  },
} satisfies Readonly<Record<string, Fork>>
type Tool = keyof typeof forks

/** By run: the first one on its folder, or the one after it; with the start of the process, or without it. */
const runs = ['first', 'again', 'first with its start', 'again with its start'] as const
type Run = (typeof runs)[number]

export const fork: SpecialScenario = {
  name: 'fork',
  title: 'a suite of tests on a fork, and the same once more',
  seconds: ({ rounds }) => 20 + secondsOfRound * Math.min(roundsMax, rounds),
  async run({ folder, settings, server: { nodeFlags = [] } }) {
    const node = await startDeveloper(folder)
    try {
      const base = await deploy(node.said)
      const rounds = {} as Record<Tool, Record<Run, Round[]>>
      for (const tool of ['tidegate', 'anvil'] as const)
        rounds[tool] = { first: [], again: [], 'first with its start': [], 'again with its start': [] }
      let expected: readonly unknown[] | undefined
      for (let round = 0; round < Math.min(roundsMax, settings.rounds); round++) {
        for (const tool of ['tidegate', 'anvil'] as const) {
          const home = mkdtempSync(join(folder, `fork-${tool}-`))
          for (const run of ['first', 'again'] as const) {
            const measured = await runOnce(() => forks[tool](base, home, nodeFlags), base)
            rounds[tool][run].push(measured.alone)
            rounds[tool][`${run} with its start`].push(measured.withStart)
            expected ??= measured.answers
            const difference = findDifference(expected, measured.answers)
            if (difference !== undefined) throw new Error(`${tool} differs, ${run} run: ${difference}`)
          }
        }
      }
      const sides = (tool: Tool) => runs.map((run) => [run, sideOfRounds(rounds[tool][run])] as const)
      const own = Object.fromEntries(sides('tidegate')) as Record<Run, ReturnType<typeof sideOfRounds>>
      const rivals = Object.fromEntries(sides('anvil'))
      return {
        unit: 'requests of the first run',
        own: own.first,
        rivals,
        ratios: Object.fromEntries(
          sides('anvil').map(([run, side]) => [run, compareSides(own[run], side, true)]),
        ),
        details: runs.map((run) => {
          const [mine, theirs] = [own[run], rivals[run]]
          const ms = (side: typeof mine | undefined) =>
            ((1_000 * requests) / (side?.rate ?? Number.NaN)).toFixed(0)
          const cpuMs = (side: typeof mine | undefined) =>
            ((requests * (side?.cpuMicros ?? Number.NaN)) / 1_000).toFixed(0)
          return `${run}: ${ms(mine)} ms, CPU ${cpuMs(mine)} ms; anvil ${ms(theirs)} ms, CPU ${cpuMs(theirs)} ms`
        }),
      }
    } finally {
      await node.stop()
    }
  },
}

/** The node that is forked: an archive that makes its own blocks. */
function startDeveloper(folder: string): Promise<ServerProcess> {
  const data = join(mkdtempSync(join(folder, 'fork-base-')), 'chain')
  const flags = ['dev', '--port', '0', '--chain-id', '7357', '--data', data, '--log-level', 'error']
  return startServer([process.execPath, programPath, ...flags], /listens on (http:\S+)/, onAllCores)
}

/** Deploys two tokens and their exchange, and gives holders of the first token their part. */
async function deploy(url: string): Promise<Base> {
  await untilOpen(url)
  const [trader] = (await ask(url, 'eth_accounts')) as [string]
  const compiled = compileContracts(join(devnetFolder, 'contracts'))
  const create = async (name: string, types: readonly string[], values: Parameters<typeof encodeAbi>[1]) => {
    const code = compiled.get(name)?.creationCode as Uint8Array
    const data = bytesToHex(concatBytes(code, encodeAbi(types, values)))
    const hash = await ask(url, 'eth_sendTransaction', { from: trader, data })
    return ((await ask(url, 'eth_getTransactionReceipt', hash)) as { contractAddress: string })
      .contractAddress
  }
  const supply = ['Tide', 'TIDE', 10n ** 30n]
  const token = await create('TideToken', ['string', 'string', 'uint256'], supply)
  const other = await create('TideToken', ['string', 'string', 'uint256'], supply)
  const exchange = await create('Exchange', ['address', 'address'], [token, other])
  const send = (to: string, data: string) => ['eth_sendTransaction', [{ from: trader, to, data }]] as const
  for (const to of [token, other])
    await askAgain(url, batch([send(to, calldata('approve(address,uint256)', [exchange, 2n ** 256n - 1n]))]))
  const liquidity = calldata('addLiquidity(uint256,uint256)', [10n ** 25n, 10n ** 25n])
  await askAgain(url, batch([send(exchange, liquidity)]))
  const grants = upTo(slots).map((at) =>
    send(token, calldata('transfer(address,uint256)', [holderAt(at), 10n ** 18n])),
  )
  for (let at = 0; at < grants.length; at += sentTogether)
    await askAgain(url, batch(grants.slice(at, at + sentTogether)))
  for (const at of upTo(contracts)) await askBody(url, rpc('anvil_setCode', [contractAt(at), codeAt(at)]))
  await ask(url, 'evm_mine')
  return { url, block: Number(await ask(url, 'eth_blockNumber')), trader, token, exchange }
}

/** Attempts of a request whose connection ends before an answer. */
const attemptsMax = 4

/**
 * The results of a call or a batch. uWebSockets.js ends a connection that seems idle because its process had no turn for
 * seconds; such a request is sent again.
 */
async function askAgain(url: string, body: string): Promise<unknown[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return resultsOf(await askBody(url, body))
    } catch (error) {
      if (attempt === attemptsMax || !/other side closed|ECONNRESET/.test(String(error))) throw error
    }
  }
}

async function ask(url: string, method: string, ...params: readonly unknown[]): Promise<unknown> {
  const [result] = await askAgain(url, rpc(method, params))
  return result
}

/** anvil returns the hash of a transaction before its block is made. */
async function untilMined(url: string, hash: unknown): Promise<void> {
  const body = rpc('eth_getTransactionReceipt', [hash])
  while (!/"blockHash":"/.test(await askBody(url, body)));
}

/** On a busy machine a chain opens after its listener. */
async function untilOpen(url: string): Promise<void> {
  while (!/"result"/.test(await askBody(url, rpc('eth_blockNumber', []))));
}

/** Starts a fork, runs the suite, and ends it. */
async function runOnce(start: () => Promise<ServerProcess>, base: Base) {
  const beganMs = performance.now()
  const server = await start()
  try {
    await untilOpen(server.said)
    const openMs = performance.now()
    const openCpu = server.cpuSeconds()
    const answers = await runSuite(server.said, base)
    const endMs = performance.now()
    const endCpu = server.cpuSeconds()
    const suiteCpu = endCpu === undefined || openCpu === undefined ? undefined : endCpu - openCpu
    return {
      answers,
      alone: roundOf(requests, (endMs - openMs) / 1_000, suiteCpu),
      withStart: roundOf(requests, (endMs - beganMs) / 1_000, endCpu),
    }
  } finally {
    await server.stop()
  }
}

/**
 * The suite, one request after the other, as tests that await each answer; returns what it read. As a fixture does, it
 * takes back its own blocks.
 */
async function runSuite(url: string, { trader, token, exchange }: Base): Promise<unknown[]> {
  const found: unknown[] = []
  const snapshot = await ask(url, 'evm_snapshot')
  for (const at of upTo(slots)) {
    const slot = keccak256(
      hexToBytes(`0x${holderAt(at).slice(2).padStart(64, '0')}${word(balancesAt).slice(2)}`),
    )
    found.push(await ask(url, 'eth_getStorageAt', token, bytesToHex(slot), 'latest'))
  }
  for (const at of upTo(contracts)) found.push(await ask(url, 'eth_getCode', contractAt(at), 'latest'))
  const swapOf = (at: number) =>
    calldata('swap(bool,uint256,uint256)', [at % 2 === 0, 10n ** 18n + BigInt(at), 0])
  const call = (at: number) => ({ from: trader, to: exchange, data: swapOf(at), gas: toQuantity(500_000) })
  for (const at of upTo(quotes)) found.push(await ask(url, 'eth_call', call(at), 'latest'))
  for (const at of upTo(swaps)) await untilMined(url, await ask(url, 'eth_sendTransaction', call(at)))
  found.push(await ask(url, 'eth_call', call(0), 'latest'))
  await ask(url, 'evm_revert', snapshot)
  return found
}
