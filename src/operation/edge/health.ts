/** The page `/health`: the state of each network, one word for all, and an HTTP status for load balancers. */
import { dirname } from 'node:path'
import { basisOf } from '../../data/chain/families/basis.js'
import { unknownForkOf } from '../../data/chain/header.js'
import { hasRoom } from '../../data/store/lmdb/environment.js'
import { isThere } from '../../primitives/files.js'
import type { SinceWhen } from '../../primitives/sinceWhen.js'
import type { KeyFreshnessFigures } from '../../serving/access/keyFreshness.js'
import type { SignedState, UpstreamsState } from '../../sources/ingest/thread/messages.js'
import type { Config } from '../config/config.js'
import type { EdgeRollup, RollupHealth } from './edgeRollup.js'
import {
  beaconStatesOf,
  conditionOf,
  sinceOfNetwork,
  sinceOfNode,
  troubleOfNode,
  whyCutOff,
} from './networkCondition.js'
import type { OpenNetwork } from './openNetwork.js'

interface HealthPage {
  /**
   * 200, or 503 if the server is about to stop or can answer no request. That is so if no network has a readable head
   * or a working queue, or if the server accepts no keys.
   */
  readonly status: number
  readonly body: string
}

interface HealthSources {
  readonly networks: readonly OpenNetwork[]
  readonly rollups: readonly EdgeRollup[]
  /** Undefined if no keys are needed, or they are not shared. */
  readonly sharedKeys: KeyFreshnessFigures | undefined
  /** Whether a store cannot be written because its disk is full. */
  readonly isDiskFull: boolean
  readonly isDraining: boolean
  /** Read at least each second, so that times are exact to a second. */
  readonly since: SinceWhen
}

/** A promise if another edge owns a rollup's queue. */
export function readHealth(sources: HealthSources): HealthPage | Promise<HealthPage> {
  const ofRollups = sources.rollups.map((rollup) => rollup.health())
  const render = (found: readonly RollupHealth[]) => renderHealth(sources, found)
  const isElsewhere = ofRollups.some((health) => health instanceof Promise)
  return isElsewhere ? Promise.all(ofRollups).then(render) : render(ofRollups as readonly RollupHealth[])
}

function renderHealth(
  { networks, rollups, sharedKeys, isDiskFull, isDraining, since }: HealthSources,
  queues: readonly RollupHealth[],
): HealthPage {
  const open = networks.filter(({ opening }) => opening === undefined)
  const answering = [...open.map(({ isReadable }) => isReadable), ...queues.map(({ isStoring }) => isStoring)]
  const isFailing =
    answering.includes(false) ||
    open.some(troubleOf) ||
    networks.some(isCutOff) ||
    sharedKeys?.isAnswering === false ||
    isDiskFull
  const isUsable = answering.includes(true) && sharedKeys?.isAccepting !== false
  const isSyncing = networks.some(isBehind)
  const entries = [
    ...networks.map((network) => [network.name, networkEntry(network, since)]),
    ...rollups.map(({ name }, index) => [name, queues[index]]),
  ]
  const status = isDraining ? 'draining' : isFailing ? 'failing' : isSyncing ? 'syncing' : 'ok'
  const disk = isDiskFull ? 'full' : 'ok'
  const diskSince = since.textOf('disk', disk)
  return {
    status: isUsable && !isDraining ? 200 : 503,
    body: JSON.stringify({
      status,
      since: since.textOf('status', status),
      networks: Object.fromEntries(entries),
      ...(sharedKeys && { sharedKeys: withKeysSince(sharedKeys, since) }),
      ...(isDiskFull && { disk, diskSince }),
    }),
  }
}

/**
 * Paths of the stores that this server should write but cannot, because their disk is full. Omits stores without a
 * folder.
 */
export function fullStores({ node, networks }: Config): string[] {
  const written = networks.filter(({ source, gateway }) => source !== undefined || gateway !== undefined)
  const paths = [node.store, ...written.map(({ storePath }) => storePath)]
  return paths.filter((path) => isThere(dirname(path)) && !hasRoom(path))
}

export function isCutOff(network: OpenNetwork): boolean {
  return whyCutOff(network) !== undefined
}

/** The state of shared keys with its begin. */
export function withKeysSince(figures: KeyFreshnessFigures, since: SinceWhen) {
  const { isAnswering, isAccepting } = figures
  return { ...figures, since: since.textOf('sharedKeys', `${isAnswering} ${isAccepting}`) }
}

/** Whether its source is known to have blocks that are not stored yet. */
export function isBehind(network: OpenNetwork): boolean {
  return network.opening !== undefined || network.current.syncing !== undefined
}

/** The reason why a network cannot answer everything, as a sentence. */
function troubleOf(network: OpenNetwork): string | undefined {
  return network.opening ?? network.upstreams?.trouble ?? unknownForkOf(network.current.head.header)
}

function networkEntry(network: OpenNetwork, since: SinceWhen) {
  const { opening, purpose, failure, upstreams, logs } = network
  const trouble = troubleOf(network)
  return {
    ...(opening === undefined && headEntry(network)),
    syncing: isBehind(network),
    condition: conditionOf(network).level,
    since: sinceOfNetwork(network, since),
    ...(purpose && { purpose }),
    ...(failure && { source: concealed(failure, upstreams) }),
    ...(trouble !== undefined && { trouble: concealed(trouble, upstreams) }),
    ...(logs && { logs }),
    ...(upstreams && { upstreams: nodeEntries(network.name, 'upstream', upstreams.nodes, since) }),
    ...(upstreams?.signed && { signed: signedEntry(network.name, upstreams.signed, since) }),
    ...(upstreams?.beaconNodes && {
      beaconNodes: nodeEntries(network.name, 'beacon node', upstreams.beaconNodes, since),
    }),
    ...(upstreams?.workingSet && { workingSet: upstreams.workingSet }),
  }
}

/** The entry of an open network. */
function headEntry(network: OpenNetwork) {
  const { current, isReadable } = network
  const oldest = isReadable ? current.chain.storedFrom : undefined
  const byHand = isReadable ? current.chain.changedByHand : undefined
  return {
    head: current.head.number,
    ...(isCutOff(network) && { headAgeSeconds: ageSeconds(current.head.header.timestamp) }),
    ...(!isReadable && { isReadable }),
    basis: basisOf(current.chain.identity),
    ...(byHand && { changedByHand: byHand }),
    ...(oldest && { oldest }),
  }
}

/** The newest block signed by the consensus layer: its slot, the share of the committee, and its age. */
function signedEntry(network: string, signed: SignedState, since: SinceWhen) {
  const { slot, participants, finalizedSlot, time, nodes } = signed
  return {
    ...(slot !== undefined && { slot, finalizedSlot, participation: participationOf(participants) }),
    ...(time !== undefined && { ageSeconds: ageSeconds(time) }),
    beaconNodes: nodeEntries(network, 'beacon node', nodes, since),
  }
}

/** Share of the 512 members of a sync committee; 0 for a checkpoint, which has no signatures. */
export function participationOf(participants = 0): number {
  return Math.round((participants / 512) * 1_000) / 1_000
}

export function ageSeconds(timestamp: number | bigint): number {
  return Math.max(0, Math.floor(Date.now() / 1_000) - Number(timestamp))
}

type Node = SignedState['nodes'][number] & Partial<Pick<UpstreamsState['nodes'][number], 'head'>>

/** The entries of nodes by number: the head that each reports, why it is not asked, and since when. */
function nodeEntries(
  network: string,
  kind: 'upstream' | 'beacon node',
  nodes: readonly Node[],
  since: SinceWhen,
) {
  const entries = nodes.map((node, index) => {
    const { name, head } = node
    const trouble = troubleOfNode(node)
    const state = {
      ...(head !== undefined && { head }),
      ...(trouble && { trouble }),
      since: sinceOfNode(network, kind, node, since),
    }
    return [concealedName(name, index), state] as const
  })
  return Object.fromEntries(entries)
}

// Callers see nodes by number: names have hosts and ports, which only the log and the admin API show.

/** A name that is a host; others, such as a replica's `feed`, are no address. */
const hostForm = /[.:]/

/** Addresses of nodes that have no name yet, as errors write them. */
const addresses =
  /\b(?:https?|wss?|postgres(?:ql)?):\/\/[^\s,;)]+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\[[0-9a-f:]+\](?::\d+)?|\b[\w-]+(?:\.[\w-]+)+:\d+\b|(?<=\b(?:upstream|node) )[\w-]+(?:\.[\w-]+)+/gi

/** The name of the node of this index that callers are shown. */
export function concealedName(name: string, index: number): string {
  return hostForm.test(name) ? String(index + 1) : name
}

/** A sentence without the addresses of a network's nodes. */
export function concealed(text: string, upstreams: UpstreamsState | undefined): string {
  const names = [upstreams?.nodes ?? [], beaconStatesOf(upstreams)].flatMap((nodes) =>
    nodes.map(({ name }, index) => [name, concealedName(name, index)] as const),
  )
  // The longest first: one may begin with another.
  const known = names.sort(([a], [b]) => b.length - a.length)
  return known
    .reduce((sentence, [name, shown]) => sentence.replaceAll(name, shown), text)
    .replace(addresses, '(address)')
}
