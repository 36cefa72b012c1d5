/** Which content coding a client wants: `Accept-Encoding` of RFC 9110, section 12.5.3. */

export type Encoding = 'gzip' | 'br' | 'zstd'

/** Coding, in lower case → its weight, from 0 to 1. */
type Weights = ReadonlyMap<string, number>

const memberPattern = /^([!#$%&'*+.^_`|~\w-]+)(?:[ \t]*;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i

/** Parsed headers that are kept, and the longest of them. Each kind of client always sends the same one. */
const keptMax = 64
const keptLengthMax = 256
const kept = new Map<string, Weights>()

/**
 * The coding among `offered` with the highest weight, of equal ones the first; undefined where the answer is to go as
 * it is. Members that are malformed do not count.
 */
export function chooseEncoding(header: string, offered: readonly Encoding[]): Encoding | undefined {
  if (header === '') return undefined
  const weights = kept.get(header) ?? readWeights(header)
  const others = weights.get('*')
  let best: Encoding | undefined
  // What is not mentioned at all goes only where nothing else is accepted.
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
