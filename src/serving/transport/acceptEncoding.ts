/** Chooses the content coding of an answer by `Accept-Encoding`: RFC 9110, section 12.5.3. */

export type Encoding = 'gzip' | 'br' | 'zstd'

/** Coding, in lower case → its weight, from 0 to 1. */
type Weights = ReadonlyMap<string, number>

const memberPattern = /^([!#$%&'*+.^_`|~\w-]+)(?:[ \t]*;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i

/** Parsed headers in the cache, and the maximum length of one. Each kind of client always sends the same header. */
const keptMax = 64
const keptLengthMax = 256
const kept = new Map<string, Weights>()

/**
 * The coding among `offered` with the highest weight; the first of equal ones. Undefined if the answer is sent
 * uncompressed. Malformed members are ignored.
 */
export function chooseEncoding(header: string, offered: readonly Encoding[]): Encoding | undefined {
  if (header === '') return undefined
  const weights = kept.get(header) ?? readWeights(header)
  const others = weights.get('*')
  let best: Encoding | undefined
  // An unmentioned identity is chosen only if no other coding is accepted.
  let bestWeight = weights.get('identity') ?? others ?? 0
  for (const encoding of offered) {
    const weight = weights.get(encoding) ?? others ?? 0
    if (weight > 0 && (best === undefined ? weight >= bestWeight : weight > bestWeight)) {
      best = encoding
      bestWeight = weight
    }
  }
  return best
}

function readWeights(header: string): Weights {
  const weights = new Map<string, number>()
  for (const member of header.split(',')) {
    const match = memberPattern.exec(member.trim())
    if (match === null) continue
    const coding = (match[1] as string).toLowerCase()
    weights.set(coding === 'x-gzip' ? 'gzip' : coding, match[2] === undefined ? 1 : Number(match[2]))
  }
  if (header.length <= keptLengthMax) {
    if (kept.size === keptMax) kept.clear()
    kept.set(header, weights)
  }
  return weights
}
