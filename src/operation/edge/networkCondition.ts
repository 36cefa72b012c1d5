/** The condition of a network, and why, as a sentence for operators. */
import { unknownForkOf } from '../../data/chain/header.js'
import type { SinceWhen } from '../../primitives/sinceWhen.js'
import type { SignedState, UpstreamsState } from '../../sources/ingest/thread/messages.js'
import type { OpenNetwork } from './openNetwork.js'

/**
 * `ok`: everything is answered. `degraded`: everything is answered, but a node of its source is out of service or
 * blocks are still to come. `failing`: no further blocks come, or a part is not answered.
 */
export type ConditionLevel = 'ok' | 'degraded' | 'failing'

export interface Condition {
  readonly level: ConditionLevel
  /** Undefined if the level is `ok`. */
  readonly why: string | undefined
}

export const wellCondition: Condition = { level: 'ok', why: undefined }

export function conditionOf(network: OpenNetwork): Condition {
  const why = failureOf(network)
  if (why !== undefined) return { level: 'failing', why }
  const lesser = deficiencyOf(network)
  return lesser === undefined ? wellCondition : { level: 'degraded', why: lesser }
}

/** Why no further blocks come: the source or all upstreams failed, or their chain cannot be followed. */
export function whyCutOff({ failure, failureWhy, upstreams }: OpenNetwork): string | undefined {
  if (failure !== undefined) {
    const next = failure === 'restarting' ? ', and starts again' : ''
    return `its source ended with an error${next}: ${failureWhy}`
  }
  if (upstreams?.isDown === true) return `no upstream answers: ${upstreams.nodes.map(troubleText).join('; ')}`
  return upstreams?.trouble
}

function failureOf(network: OpenNetwork): string | undefined {
  const cutOff = whyCutOff(network)
  if (network.opening !== undefined) return `it has no block yet: ${network.opening}`
  if (cutOff !== undefined) return cutOff
  if (!network.isReadable) return 'its newest block cannot be read'
  return unknownForkOf(network.current.head.header) ?? lackOfQuorum(network.upstreams)
}

/** Fewer nodes answer than have to agree, so that the head will not move. */
function lackOfQuorum(upstreams: UpstreamsState | undefined): string | undefined {
  if (upstreams?.quorum === undefined) return undefined
  const { nodes, quorum } = upstreams
  const answering = nodes.filter((node) => node.isAnswering && !node.isQuarantined)
  if (answering.length >= quorum) return undefined
  const others = nodes.filter((node) => !answering.includes(node)).map(troubleText)
  return `${quorum} of ${nodes.length} upstreams have to agree on the head: ${others.join('; ')}`
}

function deficiencyOf({ upstreams, current }: OpenNetwork): string | undefined {
  const nodes = [...(upstreams?.nodes ?? []), ...beaconStatesOf(upstreams)]
  const out = nodes.filter(({ isAnswering, isQuarantined }) => !isAnswering || isQuarantined)
  if (out.length > 0) return out.map(troubleText).join('; ')
  return current.syncing === undefined ? undefined : 'it takes in blocks that its source already has'
}

/** The states of beacon nodes, which have signatures or blocks. */
export function beaconStatesOf(upstreams: UpstreamsState | undefined): SignedState['nodes'] {
  return upstreams?.signed?.nodes ?? upstreams?.beaconNodes ?? []
}

type Node = Pick<UpstreamsState['nodes'][number], 'name' | 'isAnswering' | 'isQuarantined' | 'lastError'>

/** Why a node is not asked; undefined if it is. */
export function troubleOfNode({
  isAnswering,
  isQuarantined,
}: Pick<Node, 'isAnswering' | 'isQuarantined'>): 'quarantined' | 'no answer' | undefined {
  if (isQuarantined) return 'quarantined'
  return isAnswering ? undefined : 'no answer'
}

/** Time at which this edge first saw the present level of a network, in ISO 8601. */
export function sinceOfNetwork(network: OpenNetwork, since: SinceWhen): string {
  return since.textOf(`network ${network.name}`, conditionOf(network).level)
}

/** Time at which this edge first saw the present state of a node, in ISO 8601. */
export function sinceOfNode(
  network: string,
  kind: 'upstream' | 'beacon node',
  node: Node,
  since: SinceWhen,
): string {
  return since.textOf(`${kind} ${network} ${node.name}`, troubleOfNode(node) ?? 'answers')
}

/** The fault of a node, for example `10.0.0.2:8545 does not answer (connect ECONNREFUSED)`. */
function troubleText({ name, isAnswering, isQuarantined, lastError }: Node): string {
  if (isQuarantined) return `${name} is quarantined${lastError === undefined ? '' : ` (${lastError.why})`}`
  if (isAnswering) return `${name} answers`
  return `${name} does not answer${lastError === undefined ? '' : ` (${lastError.why})`}`
}
