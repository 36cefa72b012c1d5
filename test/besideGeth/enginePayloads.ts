/** Blocks of a scripted consensus client in the form of payloads, and the possible faults of one. */
import type { ForkName } from '../../src/data/chain/forks.js'
import { type Hash32, hexToBytes } from '../../src/primitives/bytes.js'
import { InvalidBlockError } from '../../src/primitives/faults.js'
import { blockOfPayload, readPayload } from '../../src/sources/ingest/engine/payload.js'
import type { Dice } from '../library/property.js'
import { chainId } from './inventedChain.js'

export const engineForks = ['paris', 'shanghai', 'cancun', 'prague', 'osaka'] as const
export type EngineFork = (typeof engineForks)[number]

export type Json = Record<string, unknown>

/** Whether a fork is this one or a later one. */
export const includes = (fork: EngineFork, since: EngineFork): boolean =>
  engineForks.indexOf(fork) >= engineForks.indexOf(since)

/** Versions of the methods at each fork. */
export const versions = {
  newPayload: { paris: 1, shanghai: 2, cancun: 3, prague: 4, osaka: 4 },
  forkchoiceUpdated: { paris: 1, shanghai: 2, cancun: 3, prague: 3, osaka: 3 },
  getPayload: { paris: 1, shanghai: 2, cancun: 3, prague: 4, osaka: 5 },
} as const

/** A block with the parts beside its payload. */
export interface Given {
  readonly payload: Json
  readonly fork: EngineFork
  readonly versionedHashes: readonly string[]
  readonly beaconRoot: string
  readonly requests: readonly string[]
}

export function payloadParams({ payload, fork, versionedHashes, beaconRoot, requests }: Given): unknown[] {
  if (!includes(fork, 'cancun')) return [payload]
  const withBlobs = [payload, versionedHashes, beaconRoot]
  return includes(fork, 'prague') ? [...withBlobs, requests] : withBlobs
}

/** The same block with the hash that its payload has; as it is if its transactions do not decode. */
export function rehashed(given: Given): Given {
  const { payload, fork, versionedHashes, beaconRoot, requests } = given
  const extras = {
    versionedHashes: includes(fork, 'cancun') ? versionedHashes.map(toHash) : undefined,
    parentBeaconBlockRoot: includes(fork, 'cancun') ? toHash(beaconRoot) : undefined,
    requests: includes(fork, 'prague') ? requests.map(hexToBytes) : undefined,
  }
  try {
    blockOfPayload(readPayload(payload), extras, fork as ForkName, BigInt(chainId))
    return given
  } catch (error) {
    if (!(error instanceof InvalidBlockError)) throw error
    // The message is that of a wrong hash, or the reason why there is no hash.
    const [, hash] = /^blockHash is \w+, expected (0x\w{64})/.exec(error.message) ?? []
    return hash === undefined ? given : { ...given, payload: { ...payload, blockHash: hash } }
  }
}

const toHash = (hex: string) => hexToBytes(hex) as Hash32
const plus = (value: unknown, more: number) => `0x${(BigInt(value as string) + BigInt(more)).toString(16)}`

type Change = (given: Given, dice: Dice) => Given

const member =
  (name: string, change: (value: unknown, dice: Dice, given: Given) => unknown): Change =>
  (given, dice) => ({
    ...given,
    payload: { ...given.payload, [name]: change(given.payload[name], dice, given) },
  })

const transactions = (change: (list: readonly unknown[], dice: Dice) => unknown): Change =>
  member('transactions', (list, dice) => change(list as readonly unknown[], dice))

export const randomHash = (dice: Dice): string =>
  `0x${Array.from({ length: 64 }, () => dice.throw(16).toString(16)).join('')}`

/** A program may send null for a member of later forks. */
const isAbsent = (value: unknown) => value === undefined || value === null

/** Each makes another block of a valid one; some stay valid. */
const changes: readonly Change[] = [
  member('stateRoot', (_, dice) => randomHash(dice)),
  member('receiptsRoot', (_, dice) => randomHash(dice)),
  member('prevRandao', (_, dice) => randomHash(dice)),
  member('logsBloom', (bloom) => `0x1${(bloom as string).slice(3)}`),
  member('logsBloom', (bloom) => (bloom as string).slice(0, -2)),
  member('gasUsed', (gas, dice) => plus(gas, 1 + dice.throw(30_000))),
  member('gasUsed', () => '0x0'),
  member('gasLimit', (gas, dice) => plus(gas, 1 + dice.throw(100_000))),
  member('gasLimit', () => '0x1387'),
  member('timestamp', (time, dice) => plus(time, -1 - dice.throw(100))),
  member('timestamp', (time, dice) => plus(time, 1 + dice.throw(3))),
  member('baseFeePerGas', (fee) => plus(fee, 1)),
  member('blockNumber', (number) => plus(number, 1)),
  member('extraData', (_, dice) => `0x${'ab'.repeat(dice.throw(34))}`),
  member('feeRecipient', (_, dice) => randomHash(dice).slice(0, 42)),
  member('blobGasUsed', (gas) => (isAbsent(gas) ? gas : plus(gas, 131_072))),
  member('excessBlobGas', (gas) => (isAbsent(gas) ? gas : plus(gas, 1))),
  transactions((list) => list.slice(1)),
  transactions((list) => [...list, ...list.slice(0, 1)]),
  transactions((list) => [...list].reverse()),
  transactions((list) => [...list, '0x']),
  transactions((list) => [...list, '0x02c0']),
  transactions((list) => list.map((one) => `${String(one).slice(0, -1)}0`)),
  member('withdrawals', (list) => (isAbsent(list) ? list : [])),
  member('withdrawals', (list) =>
    isAbsent(list)
      ? list
      : [
          ...(list as unknown[]),
          { index: '0x9', validatorIndex: '0x9', address: `0x${'99'.repeat(20)}`, amount: '0x9' },
        ],
  ),
  (given, dice) => ({ ...given, beaconRoot: randomHash(dice) }),
  (given, dice) => ({ ...given, versionedHashes: [randomHash(dice)] }),
  (given) => ({ ...given, requests: ['0x00ab', ...given.requests] }),
]

/** Another block on the same parent; usually its hash is the one of its payload. */
export function changed(given: Given, dice: Dice): Given {
  const change = changes[dice.throw(changes.length)] as Change
  const other = change(given, dice)
  return dice.throw(6) === 0 ? other : rehashed(other)
}

/** A payload that is not well-formed, or of another version. */
export function malformed(given: Given, dice: Dice): Given {
  const names = Object.keys(given.payload)
  const name = names[dice.throw(names.length)] as string
  const values = [undefined, null, 7, 'x', '0xzz', '0x1', [], {}, `0x${'f'.repeat(80)}`, '0x01']
  return { ...given, payload: { ...given.payload, [name]: values[dice.throw(values.length)] } }
}
