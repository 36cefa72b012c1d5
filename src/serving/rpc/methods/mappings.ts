/** Storage of contracts as Solidity lays it out: mappings and named variables. */
import type { ResolvedBlock } from '../../../data/chain/chainBlocks.js'
import { readVariable, type VariableReading } from '../../../data/state/readVariable.js'
import type { StateReader } from '../../../data/state/stateReader.js'
import { VariableError } from '../../../data/state/variablePath.js'
import type { WrittenKeys } from '../../../data/state/writtenKeys.js'
import { type Address, bytesToHex, hexDigits, toHash32 } from '../../../primitives/bytes.js'
import { JsonBytes } from '../../../primitives/jsonBytes.js'
import { inOneSlice, RequestSlices } from '../contexts/requestSlices.js'
import { defineMethod } from '../method.js'
import { chainMethod, type JobNetwork } from '../network.js'
import {
  countKeyValues,
  inLooks,
  keysPerLook,
  keyTypes,
  mappingKeys,
  mappingSlots,
} from '../params/mappingEntries.js'
import { address, invalidArgument, optional, stateBlockId, storageKey, text } from '../params/params.js'
import { listSchema, objectSchema, textSchema, wordSchema } from '../params/schema.js'
import { stateBlock } from '../params/stateBlock.js'

/** Methods that a pool thread may answer completely. */
export const mappingMethods = {
  /**
   * `(keys, slot, keyTypes?)` → the slots of a mapping's entries, one for each key, in their order.
   *
   * - `keys`: up to 10,000 values in all. A key is a value, or for nested mappings a list of values, outermost first.
   * - `slot`: the slot of the (outermost) mapping.
   * - `keyTypes`: the Solidity type of the values, or a list of types, outermost first. Without it each value is hex
   *   and padded to 32 bytes on the left (specification, section 4). With it `bytesN` is padded on the right,
   *   `string` and `bytes` are not padded, and integers may be decimal.
   *
   * @example
   * tidegate_getMappingSlot(["0x62a70441e573908b945cb88d617f326c1126007a"], "0x3")
   * tidegate_getMappingSlot([["0x62a7…007a", "0x397b…cecc"]], "0x4") tidegate_getMappingSlot(["tide", "ebb"], "0x7",
   * "string")
   */
  tidegate_getMappingSlot: defineMethod({
    summary: 'Slots of entries of a mapping, up to 10,000 values in all',
    params: [mappingKeys.as('keys'), storageKey.as('slot'), optional(keyTypes).as('keyTypes')],
    cost: 'job',
    jobClass: 'slots',
    price: ([keys]) => 2 + countKeyValues(keys),
    memo: 'head',
    result: listSchema(wordSchema),
    run({ jobs }: JobNetwork, [keys, slot, types], context) {
      const slots = mappingSlots(jobs, { slot, keys, types, argument: 0 }, context)
      return slots instanceof Promise ? slots.then(renderSlots) : renderSlots(slots)
    },
  }),
  /**
   * `(address, slot, keys, block?, keyTypes?)` → `[{key, slot, value}]`: entries of the mapping at `slot` after a
   * block, in the order of the keys. `key` is repeated as it was written; slot and value have 32 bytes.
   * See `tidegate_getMappingSlot` for the keys and their types.
   */
  tidegate_getStorageByKeys: defineMethod({
    summary: 'Entries of a mapping after a block, with their slots',
    params: [
      address.as('address'),
      storageKey.as('slot'),
      mappingKeys.as('keys'),
      stateBlockId.as('block'),
      optional(keyTypes).as('keyTypes'),
    ],
    cost: 'job',
    jobClass: 'slots',
    price: ([, , keys]) => 2 + 2 * countKeyValues(keys),
    memo: 'head',
    result: listSchema(objectSchema('Entry', { key: {}, slot: wordSchema, value: wordSchema })),
    run({ chain, state, jobs }: JobNetwork, [account, slot, keys, id, types], context, turnMsMax) {
      const block = stateBlock(chain, id, 3)
      const slots = mappingSlots(jobs, { slot, keys, types, argument: 2 }, context)
      const entries: Entries = { state, block, account, keys }
      if (!(slots instanceof Promise)) {
        const rendered: string[] = []
        for (const from of inLooks(keys, context)) {
          const to = Math.min(from + keysPerLook, keys.length)
          for (let at = from; at < to; at++) rendered.push(renderEntry(entries, slots, at))
        }
        return `[${rendered.join(',')}]`
      }
      const turns = new RequestSlices(turnMsMax, context, keys.length * entryBytes)
      return slots.then((computed) => turns.run(() => readInTurns(entries, computed, turns)))
    },
  }),
}

/** Bytes of a slot in the answer: 66 of hex, two quotes and a comma. */
const renderedBytes = 69

function renderSlots(slots: Uint8Array): Uint8Array {
  const json = new JsonBytes(2 + (slots.length / 32) * renderedBytes)
  json.text('[')
  for (let at = 0; at < slots.length; at += 32) {
    if (at > 0) json.text(',')
    json.hex(slots, at, at + 32)
  }
  json.text(']')
  return json.finish()
}

/** Memory of an entry as text, until all entries are rendered. */
const entryBytes = 300

interface Entries {
  readonly state: StateReader
  readonly block: ResolvedBlock
  readonly account: Address
  readonly keys: WrittenKeys
}

/** The block is fixed by its hash, so that pauses between reads cannot mix two states. */
function readInTurns(entries: Entries, slots: Uint8Array, turns: RequestSlices): string | Promise<string> {
  const { length } = entries.keys
  const rendered: string[] = []
  return turns.repeat(() => {
    if (rendered.length < length) rendered.push(renderEntry(entries, slots, rendered.length))
    return rendered.length === length ? `[${rendered.join(',')}]` : undefined
  })
}

function renderEntry({ state, block, account, keys }: Entries, slots: Uint8Array, at: number): string {
  const slot = toHash32(slots.subarray(at * 32, at * 32 + 32))
  const value = state.readSlot(block, account, slot)
  const digits = value === undefined ? '' : hexDigits(value)
  return `{"key":${JSON.stringify(keys[at])},"slot":"0x${hexDigits(slot)}","value":"0x${digits.padStart(64, '0')}"}`
}

const variableSchema = objectSchema('Variable', {
  type: textSchema,
  slot: wordSchema,
  offset: { type: 'integer', minimum: 0, maximum: 31 },
  words: listSchema(objectSchema('Word', { slot: wordSchema, value: wordSchema })),
  value: {},
})

/** Maximum length of a path in characters: usual ones have up to a hundred; one of 5 MiB would take 60 ms. */
const pathLengthMax = 16 * 1024

export const variableMethods = {
  /**
   * `(address, path, block?)` → `{type, slot, offset, words, value}`: a variable of a contract by its name, for
   * contracts whose storage layout is configured.
   *
   * - `path`: as in Solidity, such as `totalSupply`, `books[42].title`, `ages["ada"]`, `numbers.length`.
   * - `slot` and `offset`: where it begins; `offset` counts bytes from the right end of the slot.
   * - `words`: every `{slot, value}` that was read, 32 bytes each.
   * - `value`: decoded. Integers are decimal texts; see `VariableReading` for the rest.
   *
   * @example
   * tidegate_readVariable("0x6266…b382", "allowance[0xa99d…f25d][0x15ba…a48a]", "latest")
   */
  tidegate_readVariable: chainMethod({
    summary: 'Variable of a contract by its path, such as `books[42].title`, if its storage layout is known',
    params: [address.as('address'), text('a path to a variable').as('path'), stateBlockId.as('block')],
    price: 10,
    memo: 'head',
    result: variableSchema,
    run({ name, chain, state, layouts }, [account, path, id], context, turnMsMax) {
      if (path.length > pathLengthMax) {
        throw invalidArgument(1, `want a path of at most ${pathLengthMax} characters, got ${path.length}`)
      }
      const layout = layouts.get(bytesToHex(account))
      if (layout === undefined) {
        throw invalidArgument(
          0,
          `network ${name} knows no storage layout of this address; its operator can add one to the file "storageLayouts" of the configuration`,
        )
      }
      const block = stateBlock(chain, id, 2)
      // Up to 1,024 words are read, which takes 10 ms.
      return inOneSlice(new RequestSlices(turnMsMax, context, 0), () => {
        try {
          return renderVariable(readVariable(layout, path, (slot) => state.readSlot(block, account, slot)))
        } catch (error) {
          if (error instanceof VariableError) throw invalidArgument(1, error.message)
          throw error
        }
      })
    },
  }),
}

function renderVariable({ type, slot, offset, words, valueJson }: VariableReading): string {
  const pairs = words.map(({ slot, word }) => `{"slot":"${bytesToHex(slot)}","value":"${bytesToHex(word)}"}`)
  return (
    `{"type":${JSON.stringify(type)},"slot":"${bytesToHex(slot)}","offset":${offset}` +
    `,"words":[${pairs.join(',')}],"value":${valueJson}}`
  )
}
