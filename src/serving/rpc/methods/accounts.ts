/** Accounts, their code and their storage after a block. Specification, section 4. */

import { hasCode } from '../../../data/state/account.js'
import {
  type Address,
  bytesToHex,
  type Hash32,
  latin1Text,
  noBytes,
  toQuantity,
} from '../../../primitives/bytes.js'
import { FaultError } from '../../../primitives/faults.js'
import { hexWord } from '../../../primitives/jsonBytes.js'
import { typeName } from '../../../primitives/jsonType.js'
import { UncacheableResult } from '../method.js'
import { chainMethod } from '../network.js'
import {
  address,
  hash32,
  invalidArgument,
  objectOf,
  required,
  stateBlockId,
  storageKey,
} from '../params/params.js'
import {
  addressSchema,
  booleanSchema,
  bytesSchema,
  hashSchema,
  listSchema,
  mapSchema,
  nullable,
  objectSchema,
  quantitySchema,
  wordSchema,
} from '../params/schema.js'
import { stateBlock } from '../params/stateBlock.js'

const ofAccount = { params: [address.as('address'), stateBlockId.as('block')], memo: 'head' } as const

/** Maximum slots of all accounts together; go-ethereum's limit. */
const slotsMax = 1_024

/** Slots by account. Of repeated addresses the last one counts, as in any JSON object. */
const wantedSlots = required(
  (value, index): readonly (readonly [Address, readonly Hash32[]])[] => {
    const wanted = objectOf(value, index, 'an object of slots by address')
    const lists = Object.entries(wanted).map(([account, slots]): [string, unknown[]] => {
      if (Array.isArray(slots)) return [account, slots]
      throw invalidArgument(index, `want an array of slots, got ${typeName(slots)}`)
    })
    const count = lists.reduce((sum, [, slots]) => sum + slots.length, 0)
    if (count === 0) throw new FaultError({ kind: 'EmptyRequest' })
    if (count > slotsMax) throw new FaultError({ kind: 'TooManySlots', max: slotsMax })
    const byAddress = new Map<string, readonly [Address, readonly Hash32[]]>()
    for (const [account, slots] of lists) {
      const at = address.decode(account, index)
      byAddress.set(bytesToHex(at), [at, slots.map((slot) => hash32.decode(slot, index))])
    }
    return [...byAddress].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry)
  },
  mapSchema('slots by address', address.schema, listSchema(hash32.schema)),
)

export const accountMethods = {
  /** The four fields of the state trie; null if there is no account. */
  eth_getAccount: chainMethod({
    ...ofAccount,
    summary: 'Balance, nonce, code hash and storage root of an account after a block',
    price: 2,
    result: nullable(
      objectSchema('Account', {
        codeHash: hashSchema,
        storageRoot: hashSchema,
        balance: quantitySchema,
        nonce: quantitySchema,
      }),
    ),
    run({ chain, state }, [account, id]) {
      const found = state.readWholeAccount(stateBlock(chain, id, 1), account)
      if (found === undefined) return 'null'
      return JSON.stringify({
        codeHash: bytesToHex(found.codeHash),
        storageRoot: bytesToHex(found.storageRoot),
        balance: toQuantity(found.balance),
        nonce: toQuantity(found.nonce),
      })
    },
  }),
  eth_getBalance: chainMethod({
    ...ofAccount,
    summary: 'Balance of an account after a block, in wei',
    price: 2,
    result: quantitySchema,
    run: ({ chain, state }, [account, id]) =>
      `"${toQuantity(state.readAccount(stateBlock(chain, id, 1), account)?.balance ?? 0n)}"`,
  }),
  /** For a delegation (EIP-7702) the answer is its designator. */
  eth_getCode: chainMethod({
    ...ofAccount,
    summary: 'Code of an account after a block',
    mayBeLong: true,
    price: 5,
    result: bytesSchema,
    run({ chain, state }, [account, id]) {
      const found = state.readAccount(stateBlock(chain, id, 1), account)
      return found !== undefined && hasCode(found)
        ? `"${bytesToHex(state.readCode(found.codeHash))}"`
        : '"0x"'
    },
  }),
  eth_getStorageAt: chainMethod({
    summary: 'Value of a storage slot after a block',
    params: [address.as('address'), storageKey.as('position'), stateBlockId.as('block')],
    price: 2,
    memo: 'head',
    result: wordSchema,
    run: ({ chain, state }, [account, slot, id]) =>
      hexWord(state.readSlot(stateBlock(chain, id, 2), account, slot) ?? noBytes),
  }),
  /** Accounts are in the order of their addresses, slots in the order of the request. */
  eth_getStorageValues: chainMethod({
    summary: 'Values of slots of several accounts after a block',
    params: [wantedSlots.as('slots'), stateBlockId.as('block')],
    price: ([wanted]) => 2 + wanted.reduce((sum, [, slots]) => sum + 1 + slots.length, 0),
    memo: 'head',
    result: mapSchema('values by address', addressSchema, listSchema(wordSchema)),
    run({ chain, state }, [wanted, id]) {
      const block = stateBlock(chain, id, 1)
      const accounts = wanted.map(([account, slots]) => {
        const values = slots.map((slot) =>
          latin1Text(hexWord(state.readSlot(block, account, slot) ?? noBytes)),
        )
        return `"${bytesToHex(account)}":[${values.join(',')}]`
      })
      return `{${accounts.join(',')}}`
    },
  }),
  /** For `pending`, also counts waiting transactions of this node whose nonces follow the head's without a gap. */
  eth_getTransactionCount: chainMethod({
    ...ofAccount,
    summary: 'Nonce of an account after a block, or after the waiting transactions that were sent from here',
    cost: 'job',
    price: 2,
    result: quantitySchema,
    run({ chain, state, upstreamCalls }, [account, id]) {
      const block = stateBlock(chain, id, 1)
      const nonce = state.readAccount(block, account)?.nonce ?? 0n
      if (!block.isPending || upstreamCalls === undefined) return `"${toQuantity(nonce)}"`
      return upstreamCalls
        .waiting(account, nonce)
        .then((count) => new UncacheableResult(`"${toQuantity(nonce + BigInt(count))}"`))
    },
  }),
  ots_hasCode: chainMethod({
    ...ofAccount,
    summary: 'Whether an account has code after a block',
    price: 2,
    result: booleanSchema,
    run: ({ chain, state }, [account, id]) =>
      String(hasCode(state.readAccount(stateBlock(chain, id, 1), account))),
  }),
}
