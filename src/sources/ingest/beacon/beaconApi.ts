/** Requests to beacon nodes (ethereum/beacon-APIs), and parsing of their answers, which are not trusted. */

import { SszError } from '../../../data/ssz/types.js'
import { bytesOfHex, bytesToHex, readUint32 } from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import { type Encoded, readBootstrap, readUpdate, type UpdateKind } from '../../consensus/containers.js'
import type { LightClientBootstrap, LightClientUpdate } from '../../consensus/gloasForm.js'
import {
  type ConsensusFork,
  type ConsensusNetwork,
  committeeSize,
  consensusForkNames,
  epochsPerPeriod,
  secondsPerSlot,
  slotAt,
  slotsPerEpoch,
} from '../../consensus/network.js'
import type { BeaconBody } from '../../upstream/beaconLine.js'
import type { BeaconNodes } from '../../upstream/beaconNodes.js'

const lightClient = '/eth/v1/beacon/light_client'
const pathOf = { finalityUpdate: 'finality_update', optimisticUpdate: 'optimistic_update' } as const

/** Values of a network's configuration that the light client protocol relies on. */
const preset: Readonly<Record<string, number>> = {
  SECONDS_PER_SLOT: secondsPerSlot,
  SLOTS_PER_EPOCH: slotsPerEpoch,
  EPOCHS_PER_SYNC_COMMITTEE_PERIOD: epochsPerPeriod,
  SYNC_COMMITTEE_SIZE: committeeSize,
}
/** Larger epochs mean never: the specification's `FAR_FUTURE_EPOCH` is 2^64 − 1. */
const epochMax = 2 ** 50

/** Processes an answer; undefined if it is useless, so that the next node is asked. */
type Use<V, T> = (value: V) => T | undefined

export class BeaconApi {
  readonly #nodes: BeaconNodes

  constructor(nodes: BeaconNodes) {
    this.#nodes = nodes
  }

  /** All methods reject as {@link BeaconNodes.ask} does, and resolve to undefined if no answer was useful. */
  bootstrap<T>(network: ConsensusNetwork, root: Uint8Array, use: Use<LightClientBootstrap, T>) {
    return this.#nodes.ask(`${lightClient}/bootstrap/${bytesToHex(root)}`, (body) =>
      use(readBootstrap(network, encodedOf(body))),
    )
  }

  latest<T>(network: ConsensusNetwork, kind: keyof typeof pathOf, use: Use<LightClientUpdate, T>) {
    return this.#nodes.ask(`${lightClient}/${pathOf[kind]}`, (body, claim) => {
      const update = readUpdate(network, kind, encodedOf(body))
      const { slot } = update.attestedHeader.beacon
      claim({ slot, slotsBehind: Math.max(slotAt(network, Date.now()) - slot, 0) })
      return use(update)
    })
  }

  /** The best updates of `count` periods. */
  updates<T>(
    network: ConsensusNetwork,
    { first, count }: { readonly first: number; readonly count: number },
    use: Use<readonly LightClientUpdate[], T>,
  ) {
    return this.#nodes.ask(`${lightClient}/updates?start_period=${first}&count=${count}`, (body) =>
      use(partsOf(body, count).map((part) => readUpdate(network, 'update' satisfies UpdateKind, part))),
    )
  }

  /** The forks of a network. Rejects with {@link OperatorError} if its preset differs from Ethereum's. */
  forks(): Promise<readonly ConsensusFork[] | undefined> {
    return this.#nodes.ask('/eth/v1/config/spec', (body) => readForks(dataOf(body)))
  }

  /** Genesis time and genesis validators root. */
  genesis(): Promise<Pick<ConsensusNetwork, 'genesisTime' | 'genesisValidatorsRoot'> | undefined> {
    return this.#nodes.ask('/eth/v1/beacon/genesis', (body) => {
      const { genesis_time: time, genesis_validators_root: root } = dataOf(body)
      const genesisValidatorsRoot = bytesOfHex(root, 32)
      const genesisTime = Number(time)
      if (genesisValidatorsRoot === undefined || !Number.isSafeInteger(genesisTime)) return undefined
      return { genesisTime, genesisValidatorsRoot }
    })
  }
}

/** The `data` member of an answer; empty if it has none. */
function dataOf(body: BeaconBody): Readonly<Record<string, unknown>> {
  if ('ssz' in body) throw new SszError('SSZ instead of JSON')
  return ((body.json as { readonly data?: unknown } | null)?.data ?? {}) as Record<string, unknown>
}

function encodedOf(body: BeaconBody): Encoded {
  return 'ssz' in body ? body.ssz : { json: dataOf(body) }
}

/** The elements of a list in an answer. In SSZ each follows its length (8 bytes) and its fork digest (4 bytes). */
function partsOf(body: BeaconBody, most: number): Encoded[] {
  if (!('ssz' in body)) {
    const list = body.json
    if (!Array.isArray(list) || list.length > most) throw new SszError(`no list of at most ${most} updates`)
    return list.map((each) => ({ json: (each as { readonly data?: unknown } | null)?.data }))
  }
  const { ssz } = body
  const parts: Uint8Array[] = []
  for (let at = 0; at < ssz.length; ) {
    // A length of 4 GiB and more is longer than any answer.
    const length =
      ssz.length - at < 12 ? 0 : readUint32(Uint8Array.from(ssz.subarray(at, at + 4)).reverse(), 0)
    const end = at + 8 + length
    if (length < 4 || end > ssz.length || parts.length === most) throw new SszError('no list of updates')
    parts.push(ssz.subarray(at + 12, end))
    at = end
  }
  return parts
}

/** Undefined if the configuration has no forks. */
function readForks(spec: Readonly<Record<string, unknown>>): ConsensusFork[] | undefined {
  for (const [name, value] of Object.entries(preset)) {
    if (spec[name] !== undefined && Number(spec[name]) !== value) {
      throw new OperatorError(
        `the consensus layer of this network has ${name} ${spec[name]}, and only ${value} is known here`,
      )
    }
  }
  const forks = consensusForkNames.flatMap((name) => {
    const version = bytesOfHex(spec[`${name.toUpperCase()}_FORK_VERSION`], 4)
    const epoch = name === 'genesis' ? 0 : Number(spec[`${name.toUpperCase()}_FORK_EPOCH`])
    return version !== undefined && epoch <= epochMax ? [{ name, epoch, version }] : []
  })
  return forks.length < 2 ? undefined : forks
}
