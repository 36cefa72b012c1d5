/**
 * A beacon chain of Prysm's programs, which begins after the Merge: `beacon-chain`, `validator` and `prysmctl` of one
 * folder. Execution clients are Tidegate.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { systemContracts } from '../../data/devnet/systemContracts.js'
import { londonConfig, testGenesis } from '../ingest/chainMaker.js'
import { makeFolder, writeInto } from '../library/folder.js'
import { waitFor } from '../library/until.js'
import type { EngineNode } from './engineNode.js'
import { run } from './otherProgram.js'
import { freePorts } from './ports.js'

/** A quarter of mainnet's, so that six epochs of mainnet's preset take ten minutes. A busy machine misses few slots. */
const slotSeconds = 3
const epochSeconds = 32 * slotSeconds
/** The programs start meanwhile. */
const secondsToGenesis = 40
/** Two for each slot of an epoch. */
const validators = 64

const depositContract = `0x${'42'.repeat(20)}`

/** Forks of both layers, each at the start of an epoch. The genesis has those before them. */
const forks = [
  { name: 'capella', epoch: 1, time: 'shanghaiTime' },
  { name: 'deneb', epoch: 2, time: 'cancunTime' },
  { name: 'electra', epoch: 3, time: 'pragueTime' },
  { name: 'fulu', epoch: 4, time: 'osakaTime' },
  { name: 'bpo1', epoch: 5, time: 'bpo1Time' },
] as const

export interface PrysmChain {
  /** Folder of the programs. */
  readonly programs: string
  readonly folder: string
  /** Path of the genesis of the execution layer. */
  readonly genesis: string
  /** File of the secret of the Engine API. */
  readonly jwt: string
  /** Forks, with the times of their first blocks in seconds. */
  readonly forks: readonly { readonly name: (typeof forks)[number]['name']; readonly seconds: number }[]
}

export interface BeaconNode {
  /** URL of the Beacon API. */
  readonly url: string
  /** Host and port of the RPC for validators. */
  readonly rpc: string
  /** Address for peers. */
  readonly peer: string
}

/** The configuration of the beacon chain, in YAML. */
function beaconConfig(): string {
  const versions = ['genesis', 'altair', 'bellatrix', 'capella', 'deneb', 'electra', 'fulu']
  const epochOf = (name: string) => forks.find((fork) => fork.name === name)?.epoch ?? 0
  return [
    "PRESET_BASE: 'mainnet'",
    "CONFIG_NAME: 'prysm-on-tidegate'",
    `MIN_GENESIS_ACTIVE_VALIDATOR_COUNT: ${validators}`,
    ...versions.map((name, index) => `${name.toUpperCase()}_FORK_VERSION: 0x0${index}746964`),
    ...versions.slice(1).map((name) => `${name.toUpperCase()}_FORK_EPOCH: ${epochOf(name)}`),
    'TERMINAL_TOTAL_DIFFICULTY: 0',
    `SECONDS_PER_SLOT: ${slotSeconds}`,
    `SLOT_DURATION_MS: ${slotSeconds * 1_000}`,
    `SECONDS_PER_ETH1_BLOCK: ${slotSeconds}`,
    'ETH1_FOLLOW_DISTANCE: 8',
    'DEPOSIT_CHAIN_ID: 7357',
    'DEPOSIT_NETWORK_ID: 7357',
    `DEPOSIT_CONTRACT_ADDRESS: ${depositContract}`,
    'BLOB_SCHEDULE:',
    `  - EPOCH: ${epochOf('bpo1')}`,
    '    MAX_BLOBS_PER_BLOCK: 15',
    '',
  ].join('\n')
}

/** Flags of a program by name; `true` for one without a value. */
type Flags = Readonly<Record<string, string | true>>

function flagWords(flags: Flags): string[] {
  return Object.entries(flags).flatMap(([name, value]) =>
    value === true ? [`--${name}`] : [`--${name}`, value],
  )
}

/** Writes the files of a new chain, which begins soon. */
export function makePrysmChain(t: Test, programs: string): PrysmChain {
  const folder = makeFolder(t)
  const genesisSeconds = Math.floor(Date.now() / 1_000) + secondsToGenesis
  const secondsOf = (epoch: number) => genesisSeconds + epoch * epochSeconds
  const times = Object.fromEntries(forks.map(({ time, epoch }) => [time, secondsOf(epoch)]))
  const rules = {
    ...londonConfig(),
    mergeNetsplitBlock: 0,
    terminalTotalDifficulty: 0,
    depositContractAddress: depositContract,
    ...times,
    blobSchedule: {
      cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 },
      prague: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
      osaka: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
      bpo1: { target: 10, max: 15, baseFeeUpdateFraction: 8_346_193 },
    },
  }
  const members = {
    timestamp: `0x${genesisSeconds.toString(16)}`,
    difficulty: '0x0',
    baseFeePerGas: '0x3b9aca00',
  }
  const genesis = testGenesis(rules, members) as unknown as { alloc: Record<string, object> }
  for (const { address, code } of systemContracts) genesis.alloc[address] = { balance: '0x0', code }
  const config = writeInto(folder, 'config.yaml', beaconConfig())
  const state = join(folder, 'genesis.ssz')
  const stateFlags = {
    fork: 'bellatrix',
    'chain-config-file': config,
    'num-validators': String(validators),
    'genesis-time': String(genesisSeconds),
    'output-ssz': state,
  }
  const makeState = (flags: Flags) => {
    const all = ['testnet', 'generate-genesis', ...flagWords({ ...stateFlags, ...flags })]
    execFileSync(join(programs, 'prysmctl'), all, { stdio: 'ignore' })
  }
  // The beacon node asks the deposit contract. Its code is in the genesis that the tool itself makes.
  const made = join(folder, 'made.json')
  makeState({ 'geth-genesis-json-out': made })
  genesis.alloc[depositContract] = JSON.parse(readFileSync(made, 'utf8')).alloc['42'.repeat(20)]
  const path = writeInto(folder, 'genesis.json', genesis)
  makeState({ 'geth-genesis-json-in': path })
  return {
    programs,
    folder,
    genesis: path,
    jwt: writeInto(folder, 'jwt.hex', randomBytes(32).toString('hex')),
    forks: forks.map(({ name, epoch }) => ({ name, seconds: secondsOf(epoch) })),
  }
}

/** Starts a beacon node on an execution client. It ends with the test. */
export async function startBeacon(
  t: Test,
  { programs, folder, jwt }: PrysmChain,
  { url: engine }: EngineNode,
  { name, peer }: { readonly name: string; readonly peer?: string },
): Promise<BeaconNode> {
  const [rpc, http, tcp, udp] = await freePorts(4)
  const peers = peer === undefined ? { 'min-sync-peers': '0' } : { 'min-sync-peers': '1', peer }
  run(t, folder, name, [
    join(programs, 'beacon-chain'),
    ...flagWords({
      'accept-terms-of-use': true,
      datadir: join(folder, name),
      'disable-monitoring': true,
      'chain-config-file': join(folder, 'config.yaml'),
      'genesis-state': join(folder, 'genesis.ssz'),
      'contract-deployment-block': '0',
      'execution-endpoint': engine,
      'jwt-secret': jwt,
      'rpc-port': String(rpc),
      'http-port': String(http),
      'p2p-tcp-port': String(tcp),
      'p2p-udp-port': String(udp),
      // Without discovery the node does not tell its peers how many data columns it has. It has no boot nodes.
      'p2p-host-ip': '127.0.0.1',
      'p2p-local-ip': '127.0.0.1',
      // With Go 1.26, quic-go ends the program at the first connection.
      'disable-quic': true,
      // A chain with one or two nodes: there are no peers for subnets, and each node has all data columns.
      'minimum-peers-per-subnet': '0',
      supernode: true,
    }),
    ...flagWords(peers),
  ])
  const url = `http://127.0.0.1:${http}`
  const { peer_id } = await waitFor(
    `the beacon node ${name}`,
    () => ask<{ readonly peer_id: string }>(url, '/eth/v1/node/identity').catch(() => undefined),
    500,
  )
  return { url, rpc: `127.0.0.1:${rpc}`, peer: `/ip4/127.0.0.1/tcp/${tcp}/p2p/${peer_id}` }
}

/** Starts the client of all validators. It ends with the test. */
export function startValidators(t: Test, { programs, folder }: PrysmChain, { rpc }: BeaconNode): void {
  run(t, folder, 'validator', [
    join(programs, 'validator'),
    ...flagWords({
      'accept-terms-of-use': true,
      datadir: join(folder, 'validator'),
      'disable-monitoring': true,
      'chain-config-file': join(folder, 'config.yaml'),
      'beacon-rpc-provider': rpc,
      'interop-start-index': '0',
      'interop-num-validators': String(validators),
      'suggested-fee-recipient': `0x${'fe'.repeat(20)}`,
    }),
  ])
}

/** `data` of an answer of the Beacon API. Rejects without one. */
async function ask<T>(url: string, path: string): Promise<T> {
  const answer = await fetch(`${url}${path}`)
  const { data } = (await answer.json()) as { data?: T }
  if (data === undefined) throw new Error(`${path}: status ${answer.status}`)
  return data
}

interface BeaconBlock {
  readonly message: { readonly body: { readonly execution_payload: { readonly block_hash: string } } }
}

/** Hash of the payload of a block of the beacon chain. */
export async function payloadHashOf({ url }: BeaconNode, block: string): Promise<string> {
  const { message } = await ask<BeaconBlock>(url, `/eth/v2/beacon/blocks/${block}`)
  return message.body.execution_payload.block_hash
}
