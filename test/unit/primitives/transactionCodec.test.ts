/**
 * Every type of every family: its JSON becomes RLP and JSON again. Members that a node may omit or rename have no
 * effect.
 */
import t from 'tap'
import { transactionFromJson } from '../../../src/data/chain/blockFromJson.js'
import {
  arbitrumTypes,
  celoTypes,
  mantleTypes,
  optimismTypes,
  scrollTypes,
} from '../../../src/data/chain/families/familyTypes.js'
import { bytesToHex, toMinimalBytes } from '../../../src/primitives/bytes.js'
import { decodeRlpList, encodeRlp, type RlpItem, rlpBytes } from '../../../src/primitives/rlp.js'
import { type Conversion, convertField } from '../../../src/primitives/transactionCodec.js'
import {
  type FieldForm,
  isQuantityForm,
  type TransactionType,
  transactionTypes,
} from '../../../src/primitives/transactionTypes.js'
import { Dice, propertyRuns } from '../../library/property.js'

type Json = Readonly<Record<string, unknown>>

const families = {
  ethereum: transactionTypes,
  optimism: optimismTypes,
  celo: celoTypes,
  mantle: mantleTypes,
  arbitrum: arbitrumTypes,
  scroll: scrollTypes,
}

const hex = (dice: Dice, length: number) =>
  `0x${Array.from({ length }, () => dice.throw(256).toString(16).padStart(2, '0')).join('')}`
const quantity = (dice: Dice) => `0x${BigInt(hex(dice, 1 + dice.throw(8))).toString(16)}`
const list = <T>(dice: Dice, make: () => T) => Array.from({ length: dice.throw(3) }, make)

function memberValue(form: FieldForm, dice: Dice): unknown {
  if (form === 'integer8') return `0x${dice.throw(2)}`
  if (isQuantityForm(form)) return quantity(dice)
  switch (form) {
    case 'bytes':
      return hex(dice, dice.throw(60))
    case 'recipient':
      return dice.throw(3) === 0 ? null : hex(dice, 20)
    case 'hash':
      return hex(dice, 32)
    case 'flag':
      return true
    case 'hashes':
      return list(dice, () => hex(dice, 32))
    case 'accessList':
      return list(dice, () => {
        return { address: hex(dice, 20), storageKeys: list(dice, () => hex(dice, 32)) }
      })
    case 'authorizations':
      return list(dice, () => {
        const signature = { yParity: '0x1', r: quantity(dice), s: quantity(dice) }
        return { chainId: '0x1', address: hex(dice, 20), nonce: quantity(dice), ...signature }
      })
    default:
      return hex(dice, 20)
  }
}

function jsonOf({ number, fields, isSigned }: TransactionType, dice: Dice): Json {
  const signature = isSigned ? { v: '0x1', r: quantity(dice), s: quantity(dice) } : {}
  const members = Object.entries(fields).map(([name, form]) => [name, memberValue(form, dice)])
  return { type: `0x${number.toString(16)}`, ...Object.fromEntries(members), ...signature }
}

/** RLP as JSON, by code that is independent of the program's. */
const toJson: Conversion<RlpItem, unknown> = {
  leaf: (item, form) => {
    const bytes = rlpBytes(item)
    if (form === 'flag') return bytes.length > 0
    if (form === 'recipient' && bytes.length === 0) return null
    const text = bytesToHex(bytes)
    return isQuantityForm(form) ? `0x${BigInt(bytes.length === 0 ? 0 : text).toString(16)}` : text
  },
  items: (item) => item as readonly RlpItem[],
  members: (item) => item as readonly RlpItem[],
  list: (items) => items,
  object: (members, names) => Object.fromEntries(names.map((name, at) => [name, members[at]])),
}

function itemsOf(item: RlpItem): readonly RlpItem[] {
  return item instanceof Uint8Array ? decodeRlpList(item.subarray(1)) : item
}

t.test('a transaction of each type is RLP and JSON again', (t) => {
  const { numRuns, seed } = propertyRuns(20)
  const dice = new Dice(seed as number)
  for (const [name, types] of Object.entries(families)) {
    for (const type of types.values()) {
      for (let run = 0; run < (numRuns as number); run++) {
        const json = jsonOf(type, dice)
        const item = transactionFromJson(json, types)
        const items = itemsOf(item)
        t.equal(items.length, type.names.length + (type.isSigned ? 3 : 0))
        t.equal(item instanceof Uint8Array ? item[0] : 0, type.number)
        const found = Object.entries(type.fields).map(([member, form], at) => {
          return [member, convertField(toJson, items[at], form, member)] as const
        })
        const wanted = Object.fromEntries(type.names.map((member) => [member, json[member]]))
        t.strictSame(Object.fromEntries(found), wanted, `type ${type.number} of ${name}`)
      }
    }
  }
  t.end()
})

t.test('what the JSON of a family may omit is 0, or left out', (t) => {
  const dice = new Dice(1)
  const mantle = mantleTypes.get(0x7e) as TransactionType
  const { ethTxValue: _, mint: __, ...short } = jsonOf(mantle, dice)
  const items = itemsOf(transactionFromJson(short, mantleTypes))
  t.equal(items.length, mantle.names.length - 1, 'its last field')
  t.strictSame(items[mantle.placeOf('mint') as number], new Uint8Array(0))
  const { gas: ___, ...noGas } = jsonOf(arbitrumTypes.get(0x65) as TransactionType, dice)
  t.strictSame(itemsOf(transactionFromJson(noGas, arbitrumTypes))[4], new Uint8Array(0))
  const { gas: ____, ...refused } = jsonOf(transactionTypes.get(2) as TransactionType, dice)
  t.throws(() => transactionFromJson(refused), { message: /gas is/ }, "Ethereum's JSON has all of them")
  t.end()
})

t.test('a member is read under its other name where its own is absent', (t) => {
  const dice = new Dice(2)
  for (const [types, number, name, other] of [
    [arbitrumTypes, 0x66, 'maxFeePerGas', 'gasPrice'],
    [scrollTypes, 0x7e, 'from', 'sender'],
  ] as const) {
    const json = jsonOf(types.get(number) as TransactionType, dice)
    const renamed = { ...json, [name]: undefined, [other]: json[name] }
    const wanted = encodeRlp(transactionFromJson(json, types))
    t.strictSame(encodeRlp(transactionFromJson(renamed, types)), wanted)
    const both = { ...json, [other]: bytesToHex(toMinimalBytes(7)) }
    t.strictSame(encodeRlp(transactionFromJson(both, types)), wanted, 'its own name comes first')
  }
  t.end()
})
