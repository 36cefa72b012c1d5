/** Members of rendered JSON are found and left out as by code that reads all of it. */
import fc from 'fast-check'
import t from 'tap'
import { itemOf, memberOf, withoutMembers } from '../../../../src/serving/rpc/answers/jsonMembers.js'
import { propertyRuns } from '../../../library/property.js'

const names = ['a', 'ab', 'blobGasPrice', 'logs', 'type', 'z']
const hexText = fc.stringMatching(/^0x[0-9a-f]{0,70}$/)
const scalar = fc.oneof(hexText, fc.nat(), fc.constantFrom(null, true, false))
/** Names inside of lists are others: that of a member must come first. */
const inner = fc.dictionary(fc.constantFrom('address', 'data', 'index'), fc.oneof(scalar, fc.array(hexText)))
const object = fc.dictionary(fc.constantFrom(...names), fc.oneof(scalar, fc.array(inner), inner))
const bytesOf = (value: unknown) => new Uint8Array(Buffer.from(JSON.stringify(value)))
const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString()

t.test('members and their values are those of the object', async (t) => {
  fc.assert(
    fc.property(object, fc.subarray(names), (value, left) => {
      const json = bytesOf(value)
      for (const name of names) {
        const place = memberOf(json, name)
        const found = place && textOf(json.subarray(place.value.at, place.value.end))
        if (found !== JSON.stringify(value[name])) return false
      }
      const rest = Object.fromEntries(Object.entries(value).filter(([name]) => !left.includes(name)))
      return textOf(withoutMembers(json, left)) === JSON.stringify(rest)
    }),
    propertyRuns(500),
  )
  t.pass()
})

t.test('items of a list are found by their index, and none after the last', async (t) => {
  const log = fc.record({ address: hexText, topics: fc.array(hexText), removed: fc.boolean() })
  fc.assert(
    fc.property(fc.array(log, { maxLength: 5 }), scalar, (logs, type) => {
      const json = bytesOf({ blockHash: '0x', logs, type })
      return [...logs, undefined].every((each, index) => {
        const found = itemOf(json, 'logs', index)
        return (found && textOf(found)) === JSON.stringify(each)
      })
    }),
    propertyRuns(300),
  )
  t.equal(itemOf(bytesOf({}), 'logs', 0), undefined)
})
