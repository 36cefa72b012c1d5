/**
 * A rollup of the OP Stack from real programs (`../shared/engine/op-node`). Tidegate is the L1, and the engine of a
 * sequencer and a verifier. op-batcher writes batches to L1.
 */

import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Hex } from '../../src/primitives/bytes.js'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { engineRecordings } from '../consensus/engineRecordings.js'
import { makeFolder, writeInto } from '../library/folder.js'
import { waitFor } from '../library/until.js'
import { type EngineNode, startEngine } from './engineNode.js'
import { answered, call, run } from './otherProgram.js'
import { freePorts } from './ports.js'
import { type Service, startService } from './service.js'

const scripts = join(engineRecordings, 'op-node')
/** A well-known key of test tools. */
const batcherKey = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'
/** Signs the blocks that the sequencer gossips; the genesis of L1 has its address. Its account has ether. */
export const signerKey: Hex = '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a'
/** Without a boot node, op-node looks up the names of public ones. */
const bootNode =
  'enode://d860a01f9722d78051619d1e2351aba3f43f943f6f00718d1b9baa4101932a1f5011f16bb2b1bb35db20d6fe28fa0bf09636d26a87d31de9ec6203eeedb1f666@127.0.0.1:9'
const blockSeconds = 2
/** Between two forks: several blocks of the L2. */
const forkSeconds = 8

/** Paths of the programs. */
export interface OpPrograms {
  readonly node: string
  readonly batcher: string
  /** op-geth, for comparison. */
  readonly geth?: string | undefined
}

/** An op-node, and Tidegate as its engine. */
interface Driven {
  readonly engine: Service
  /** URL of the RPC of op-node. */
  readonly node: string
}

export interface Rollup {
  readonly l1: Service
  readonly jovianTime: number
  readonly sequencer: Driven
  readonly verifier: Driven
  /** URL of op-geth; undefined without it. */
  readonly reference: string | undefined
}

const urlOf = (port: number) => `http://127.0.0.1:${port}`

interface NodePlan {
  /** URL of L1. */
  readonly l1: string
  /** Port of the beacon node; undefined for batches as calldata. */
  readonly beacon: number | undefined
  /** Port of the node's RPC. */
  readonly port: number
  /** URL of the node's engine, and the file of the secret. */
  readonly engine: string
  readonly jwt: string
}

/** The flags of an op-node for its engine and its L1. */
function nodeFlags(folder: string, { l1, beacon, port, engine, jwt }: NodePlan): readonly string[] {
  const data =
    beacon === undefined
      ? ['--l1.beacon.ignore']
      : [`--l1.beacon=http://127.0.0.1:${beacon}`, `--l1.beacon.slot-duration-override=${blockSeconds}`]
  return [
    `--l1=${l1}`,
    '--l1.rpckind=standard',
    '--l1.trustrpc=false',
    ...data,
    '--l1.http-poll-interval=1s',
    '--l1.epoch-poll-interval=6s',
    `--l2=${engine}`,
    `--l2.jwt-secret=${jwt}`,
    '--l2.enginekind=geth',
    `--rollup.config=${join(folder, 'rollup.json')}`,
    `--rollup.l1-chain-config=${join(folder, 'l1-chain-config.json')}`,
    '--rpc.addr=127.0.0.1',
    `--rpc.port=${port}`,
  ]
}

function gossipFlags(folder: string, name: string, port: number): readonly string[] {
  const paths = ['--p2p.priv.path', join(folder, `${name}.p2pkey`), '--p2p.peerstore.path', 'memory']
  const alone = ['--p2p.listen.ip', '127.0.0.1', '--p2p.no-discovery', '--p2p.bootnodes', bootNode]
  return [...alone, ...paths, '--p2p.discovery.path', 'memory', '--p2p.listen.tcp', String(port)]
}

/** Stores the blobs on their way to L1, and serves them like a beacon node. */
function startBlobs(t: Test, folder: string, { l1, rpc, beacon, time }: BlobPorts): void {
  // Links to the packages of the repository.
  const copies = join(packageRoot(), 'dist/opDevnet')
  mkdirSync(copies, { recursive: true })
  copyFileSync(join(scripts, 'blobs.mjs'), join(copies, 'blobs.mjs'))
  const words = [String(rpc), String(beacon), l1, String(time), String(blockSeconds)]
  run(t, folder, 'blobs', [
    process.execPath,
    join(copies, 'blobs.mjs'),
    ...words,
    join(folder, 'blobs.jsonl'),
  ])
}

interface BlobPorts {
  readonly l1: string
  readonly rpc: number
  readonly beacon: number
  /** Time of the genesis, in seconds. */
  readonly time: number
}

/** Starts op-geth, and an op-node that drives it by L1 alone. */
async function startReference(
  t: Test,
  folder: string,
  programs: OpPrograms & { readonly geth: string },
  { l1, beacon, jwt }: { readonly l1: string; readonly beacon: number | undefined; readonly jwt: string },
): Promise<string> {
  const [rpc, engine, gossip, port] = (await freePorts(4)) as [number, number, number, number]
  const dir = ['--datadir', join(folder, 'geth'), '--state.scheme', 'hash']
  execFileSync(programs.geth, ['init', ...dir, join(folder, 'l2-genesis.json')], { stdio: 'ignore' })
  run(t, folder, 'geth', [
    programs.geth,
    ...dir,
    ...[
      '--syncmode',
      'full',
      '--gcmode',
      'archive',
      '--networkid',
      '901',
      '--http',
      '--http.port',
      String(rpc),
    ],
    ...['--authrpc.port', String(engine), '--authrpc.jwtsecret', jwt, '--port', String(gossip)],
    ...['--nodiscover', '--maxpeers', '0', '--ipcdisable', '--rollup.disabletxpoolgossip'],
    '--rollup.superchain-upgrades=false',
  ])
  await answered(urlOf(rpc), 'eth_chainId')
  const flags = nodeFlags(folder, { l1, beacon, port, engine: urlOf(engine), jwt })
  run(t, folder, 'reference', [programs.node, ...flags, '--p2p.disable'])
  return urlOf(rpc)
}

/** Starts the whole rollup, all of which ends with the test. */
export async function startRollup(
  t: Test,
  data: 'calldata' | 'blobs',
  programs: OpPrograms,
): Promise<Rollup> {
  const folder = makeFolder(t)
  const base = join(packageRoot(), '../shared/chains/op/a/genesis.json')
  const made = [join(scripts, 'make-genesis.py'), folder, packageRoot(), base, String(forkSeconds)]
  execFileSync('python3', made, { stdio: 'ignore' })
  const l1Source = { type: 'develop', blockSeconds }
  const l1Network = { name: 'l1', genesis: 'l1-genesis.json', safeLag: 4, finalizedLag: 8, source: l1Source }
  const l1Config = writeInto(folder, 'l1.json', { networks: [l1Network] })
  const l1 = await startService(['--config', l1Config, '--data', join(folder, 'l1'), '--no-auth'])
  t.teardown(() => l1.stop())
  const genesis = join(folder, 'l2-genesis.json')
  const [own, other] = [await startEngine(t, { genesis }), await startEngine(t, { genesis })]
  const rollup = JSON.parse(readFileSync(join(folder, 'rollup.json'), 'utf8'))
  rollup.genesis.l1.hash = (await call(l1.origin, 'eth_getBlockByNumber', ['0x0', false])).hash
  rollup.genesis.l2.hash = (await call(own.service.origin, 'eth_getBlockByNumber', ['0x0', false])).hash
  writeInto(folder, 'rollup.json', rollup)
  const ports = (await freePorts(7)) as [number, number, number, number, number, number, number]
  const [first, second, gossip, otherGossip, blobRpc, beaconPort, batcherRpc] = ports
  const beacon = data === 'blobs' ? beaconPort : undefined
  if (data === 'blobs')
    startBlobs(t, folder, { l1: l1.origin, rpc: blobRpc, beacon: beaconPort, time: rollup.genesis.l2_time })
  const flagsOf = ({ url, jwt }: EngineNode, port: number) =>
    nodeFlags(folder, { l1: l1.origin, beacon, port, engine: url, jwt })
  run(t, folder, 'sequencer', [
    programs.node,
    ...flagsOf(own, first),
    ...gossipFlags(folder, 'sequencer', gossip),
    ...['--p2p.sequencer.key', signerKey.slice(2), '--sequencer.enabled', '--sequencer.l1-confs=0'],
  ])
  const { peerID } = await answered(urlOf(first), 'opp2p_self')
  run(t, folder, 'verifier', [
    programs.node,
    ...flagsOf(other, second),
    ...gossipFlags(folder, 'verifier', otherGossip),
    ...['--p2p.static', `/ip4/127.0.0.1/tcp/${gossip}/p2p/${peerID}`],
  ])
  const { geth } = programs
  const reference =
    geth && (await startReference(t, folder, { ...programs, geth }, { l1: l1.origin, beacon, jwt: own.jwt }))
  const sequencer = { engine: own.service, node: urlOf(first) }
  // Blobs are accepted from Ecotone on.
  if (data === 'blobs')
    await waitFor('Ecotone', async () => (await timeOf(own.service)) >= rollup.ecotone_time, 500)
  run(t, folder, 'batcher', [
    programs.batcher,
    ...['--l1-eth-rpc', data === 'blobs' ? urlOf(blobRpc) : l1.origin, '--l2-eth-rpc', own.service.origin],
    ...['--rollup-rpc', sequencer.node, '--private-key', batcherKey, '--data-availability-type', data],
    ...(data === 'blobs' ? ['--txmgr.cell-proof-time', '0'] : []),
    ...['--max-channel-duration', '3', '--sub-safety-margin', '4', '--poll-interval', '1s'],
    ...['--num-confirmations', '1', '--txmgr.receipt-query-interval', '1s'],
    ...['--rpc.addr', '127.0.0.1', '--rpc.port', String(batcherRpc)],
  ])
  return {
    l1,
    jovianTime: rollup.jovian_time,
    sequencer,
    verifier: { engine: other.service, node: urlOf(second) },
    reference,
  }
}

export async function timeOf({ origin }: Service): Promise<number> {
  return Number((await call(origin, 'eth_getBlockByNumber', ['latest', false])).timestamp)
}
