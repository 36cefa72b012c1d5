import { bytesToHex } from '../../primitives/bytes.js'
import { readVariable, type VariableReading } from '../../state/readVariable.js'
import { VariableError } from '../../state/variablePath.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { address, invalidArgument, stateBlockId, text } from '../params.js'
import { listSchema, objectSchema, textSchema, wordSchema } from '../schema.js'
import { stateBlock } from '../stateBlock.js'
import { inOneTurn, Turns } from '../turns.js'

const variableSchema = objectSchema('Variable', {
  type: textSchema,
  slot: wordSchema,
  offset: { type: 'integer', minimum: 0, maximum: 31 },
  words: listSchema(objectSchema('Word', { slot: wordSchema, value: wordSchema })),
  value: {},
})

/**
 * Longest path in characters. Text keys usually have up to a hundred; parsing and hashing one of 5 MiB takes 60 ms.
 */
const pathLengthMax = 16 * 1024

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
export const tidegate_readVariable = defineMethod({
  name: 'tidegate_readVariable',
  summary: 'Variable of a contract by its path, such as `books[42].title`, where its storage layout is known',
  params: [address, text('a path to a variable'), stateBlockId],
  paramNames: ['address', 'path', 'block'],
  cost: 'inline',
  price: 10,
  memo: 'head',
  result: variableSchema,
  run({ name, chain, state, layouts }: Network, [account, path, id], caller, turnMsMax) {
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
    return inOneTurn(new Turns(turnMsMax, caller, 0), () => {
      try {
        return render(readVariable(layout, path, (slot) => state.readSlot(block, account, slot)))
      } catch (error) {
        if (error instanceof VariableError) throw invalidArgument(1, error.message)
        throw error
      }
    })
  },
})

function render({ type, slot, offset, words, valueJson }: VariableReading): string {
  const pairs = words.map(({ slot, word }) => `{"slot":"${bytesToHex(slot)}","value":"${bytesToHex(word)}"}`)
  return (
    `{"type":${JSON.stringify(type)},"slot":"${bytesToHex(slot)}","offset":${offset}` +
    `,"words":[${pairs.join(',')}],"value":${valueJson}}`
  )
}
