import { decodeHeader, type Header, headerFromItems, headerHash } from '../../../data/chain/header.js'
import type { ChainReader } from '../../../data/store/chainReader.js'
import { bytesToHex, type Hash32 } from '../../../primitives/bytes.js'
import { InvalidBlockError } from '../../../primitives/faults.js'
import { decodeRlpList, encodeRlp, RlpError, type RlpItem, rlpList } from '../../../primitives/rlp.js'

const unclesMax = 2
/** An uncle's parent is at most this many generations before the block (yellow paper 11.1). */
const generationsMax = 7

/** Checks an uncle's header against its parent's; supplied by the importer. */
type UncleHeaderCheck = (uncle: Header, parent: Header, parentHash: Hash32) => void

/**
 * Checks the uncles of a block (yellow paper 11.1): at most two, each with a valid header. Each is a recent relative,
 * but no ancestor, and not yet included. Throws InvalidBlockError.
 */
export function checkUncles(
  uncles: readonly RlpItem[],
  header: Header,
  store: ChainReader,
  checkUncleHeader: UncleHeaderCheck,
): void {
  if (uncles.length === 0) return
  if (uncles.length > unclesMax)
    throw new InvalidBlockError(`the block has ${uncles.length} uncles, expected at most ${unclesMax}`)
  const { ancestors, included } = readFamily(header, store)
  for (const [index, item] of uncles.entries()) {
    const hash = headerHash(encodeRlp(item))
    const id = bytesToHex(hash)
    const named = `uncle ${index} (${id})`
    const uncle = readUncle(item, named)
    if (included.has(id)) throw new InvalidBlockError(`${named} was included before`)
    included.add(id)
    if (ancestors.has(id)) throw new InvalidBlockError(`${named} is an ancestor of the block`)
    const parent = ancestors.get(bytesToHex(uncle.parentHash))
    if (parent === undefined)
      throw new InvalidBlockError(`${named} has no parent among the last ${generationsMax} ancestors`)
    if (bytesToHex(uncle.parentHash) === bytesToHex(header.parentHash))
      throw new InvalidBlockError(`${named} is a child of the block's own parent`)
    try {
      checkUncleHeader(uncle, parent, uncle.parentHash)
    } catch (error) {
      if (error instanceof InvalidBlockError)
        throw new InvalidBlockError(`${named} is invalid: ${error.message}`)
      throw error
    }
  }
}

function readUncle(item: RlpItem, named: string): Header {
  try {
    return headerFromItems(rlpList(item))
  } catch (error) {
    if (error instanceof RlpError) throw new InvalidBlockError(`${named} is no header: ${error.why}`)
    throw error
  }
}

/** Recent ancestors by hash, and the hashes of the uncles that they include. */
function readFamily(
  header: Header,
  store: ChainReader,
): { ancestors: Map<string, Header>; included: Set<string> } {
  const ancestors = new Map<string, Header>()
  const included = new Set<string>()
  let hash = header.parentHash
  for (let generation = 0; generation < generationsMax; generation++) {
    const headerRlp = store.readHeader(hash)
    const bodyRlp = store.readBody(hash)
    if (headerRlp === undefined) break
    const ancestor = decodeHeader(headerRlp)
    ancestors.set(bytesToHex(hash), ancestor)
    // Below the start of a store there are only headers; uncles included there are not known.
    for (const uncle of bodyRlp === undefined ? [] : rlpList(decodeRlpList(bodyRlp)[1]))
      included.add(bytesToHex(headerHash(encodeRlp(uncle))))
    if (ancestor.number === 0) break
    hash = ancestor.parentHash
  }
  return { ancestors, included }
}
