/**
 * Members of objects in JSON that was rendered here, found without reading all of it. A receipt of 2 MB takes 80 ms of
 * CPU to parse and to write again. Such JSON has no blanks, and its texts contain no quotes and no brackets.
 */

/** Positions of a member of an object: of its name, and of its value. */
interface MemberPlace {
  readonly at: number
  readonly value: { readonly at: number; readonly end: number }
}

const quote = 0x22
const comma = 0x2c
const [listStart, listEnd] = [0x5b, 0x5d]
const [objectStart, objectEnd] = [0x7b, 0x7d]

const viewOf = (json: Uint8Array) => Buffer.from(json.buffer, json.byteOffset, json.byteLength)

/** The first member with a name; objects inside of the object must have none of this name before it. */
export function memberOf(json: Uint8Array, name: string): MemberPlace | undefined {
  const key = `"${name}":`
  const at = viewOf(json).indexOf(key)
  if (at === -1) return undefined
  const start = at + key.length
  return { at, value: { at: start, end: endOfValue(json, start) } }
}

/** The object without these members. */
export function withoutMembers(json: Uint8Array, names: readonly string[]): Uint8Array {
  let left = json
  for (const name of names) {
    const place = memberOf(left, name)
    if (place === undefined) continue
    // The comma after a member goes with it; after the last one, the comma before it.
    const isLast = left[place.value.end] !== comma
    const from = isLast && left[place.at - 1] === comma ? place.at - 1 : place.at
    left = Buffer.concat([
      left.subarray(0, from),
      left.subarray(isLast ? place.value.end : place.value.end + 1),
    ])
  }
  return left
}

/** An item of a member that is a list of objects without objects in them; undefined if there are fewer. */
export function itemOf(json: Uint8Array, name: string, index: number): Uint8Array | undefined {
  const list = memberOf(json, name)?.value
  if (list === undefined) return undefined
  let at = list.at + 1
  for (let passed = 0; json[at] === objectStart; passed++) {
    const end = endOfValue(json, at)
    if (passed === index) return json.subarray(at, end)
    at = end + 1
  }
  return undefined
}

function endOfValue(json: Uint8Array, start: number): number {
  const first = json[start]
  if (first === quote) return json.indexOf(quote, start + 1) + 1
  if (first === listStart || first === objectStart) return endOfNested(json, start)
  let at = start
  while (json[at] !== comma && json[at] !== objectEnd && json[at] !== listEnd) at++
  return at
}

function endOfNested(json: Uint8Array, start: number): number {
  let depth = 0
  for (let at = start; at < json.length; at++) {
    const byte = json[at]
    // Most of such JSON are texts.
    if (byte === quote) at = json.indexOf(quote, at + 1)
    else if (byte === listStart || byte === objectStart) depth++
    else if ((byte === listEnd || byte === objectEnd) && --depth === 0) return at + 1
  }
  return json.length
}
