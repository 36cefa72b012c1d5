/**
 * The block at which a store begins, and the headers before it that BLOCKHASH may need. They are read from files, each
 * linked to the next by its hash. Owns their checks; loadState.ts compares the state with the block.
 */
import type { ForkSchedule } from '../../../data/chain/forks.js'
import { decodeHeader, type Header, headerHash, requireKnownFork } from '../../../data/chain/header.js'
import { ancestorsMax } from '../../../data/store/chainRows.js'
import type { StartBlock } from '../../../data/store/startWriter.js'
import { BlockExecutor } from '../../../execution/evm/blocks/executeBlock.js'
import { RecoveredKeys } from '../../../execution/evm/transactions/recoveredKeys.js'
import { bytesToBigInt, bytesToHex, equalBytes, noBytes, toMinimalBytes } from '../../../primitives/bytes.js'
import { InvalidBlockError, OperatorError } from '../../../primitives/faults.js'
import { emptyTrieRoot } from '../../../primitives/keccak.js'
import { decodeRlpList, encodeRlp } from '../../../primitives/rlp.js'
import { type Block, parseBlock } from '../blocks/block.js'
import { bodyItems, checkContent } from '../blocks/blockRules.js'
import { readChainFile } from '../blocks/chainFile.js'
import type { Genesis } from '../blocks/genesis.js'
import type { StartPlan } from '../thread/messages.js'

/** A header, with its block if that is known. */
export interface StartHeader {
  readonly rlp: Uint8Array
  readonly header: Header
  readonly hash: Uint8Array
  readonly block: Block | undefined
}

/** Files may have many more blocks than needed; all their headers are kept in memory. */
const headersMax = 65_536

/**
 * Headers and blocks from files, each RLP, one after another in any order, plain or gzip. Rejects with OperatorError
 * for other data.
 */
export async function readStartHeaders(paths: readonly string[]): Promise<StartHeader[]> {
  const headers: StartHeader[] = []
  for (const path of paths) {
    try {
      for await (const { rlp } of readChainFile(path)) {
        if (headers.length === headersMax)
          throw new OperatorError(
            `${path} has more than ${headersMax} blocks; name a file with the last ones`,
          )
        headers.push(startHeader(rlp))
      }
    } catch (error) {
      if (error instanceof OperatorError) throw error
      throw new OperatorError(`${path}: ${(error as Error).message}`)
    }
  }
  return headers
}

/** A start header from the RLP of a header, or of a block. */
export function startHeader(rlp: Uint8Array): StartHeader {
  const isBlock = Array.isArray(decodeRlpList(rlp)[0])
  const block = isBlock ? parseBlock(rlp) : undefined
  if (block !== undefined) return { rlp: block.headerRlp, header: block.header, hash: block.hash, block }
  return { rlp, header: decodeHeader(rlp), hash: headerHash(rlp), block }
}

/**
 * The rows of the newest of these blocks, which comes last, and of the headers before it. Throws OperatorError if it is
 * not the block that the operator named, headers are missing, or its total difficulty is not known.
 */
export function startBlocks(
  headers: readonly StartHeader[],
  { schedule, identity, blockDiff }: Genesis,
  { hash, totalDifficulty }: Pick<StartPlan, 'hash' | 'totalDifficulty'>,
): readonly StartBlock[] {
  const known = [...headers, startHeader(blockDiff.header)]
  const byHash = new Map(known.map((each) => [bytesToHex(each.hash), each]))
  const first = known.reduce((a, b) => {
    const above = b.header.number - a.header.number
    return above > 0 || (above === 0 && a.block === undefined) ? b : a
  })
  const { number } = first.header
  requireKnownFork(first.header)
  if (hash !== undefined && bytesToHex(first.hash) !== hash)
    throw new OperatorError(`the newest header is block ${number} (${bytesToHex(first.hash)}), not ${hash}`)
  if (number === 0)
    throw new OperatorError('there is no header above the genesis; name that of the block of the state')
  const chain = [first]
  let total = totalDifficulty ?? impliedTotal(first.header, schedule, blockDiff.totalDifficulty)
  const rows = [startRow(first, total, schedule)]
  while (chain.length <= Math.min(ancestorsMax, number)) {
    const last = chain.at(-1) as StartHeader
    const below = last.header.number - 1
    const parent = byHash.get(bytesToHex(last.header.parentHash))
    if (below === 0 && bytesToHex(last.header.parentHash) !== identity.genesisHash)
      throw new OperatorError(`block 1 does not follow on the genesis ${identity.genesisHash}`)
    if (parent === undefined) {
      throw new OperatorError(
        `the header of block ${below} (${bytesToHex(last.header.parentHash)}) is missing; name the headers of the ` +
          `${ancestorsMax} blocks before block ${number}, which BLOCKHASH of later ones may ask for: --header takes ` +
          'chain files too (geth export), and may be given several times',
      )
    }
    total -= last.header.difficulty
    chain.push(parent)
    rows.unshift(startRow({ ...parent, block: undefined }, total, schedule))
  }
  return rows
}

/** The total difficulty after the Merge: the terminal one, or on a chain that began merged, the one of its genesis. */
function impliedTotal({ difficulty, number }: Header, schedule: ForkSchedule, genesis: Uint8Array): bigint {
  const { terminalTotalDifficulty: terminal } = schedule.config
  if (difficulty === 0n && terminal !== undefined) {
    const own = bytesToBigInt(genesis)
    return terminal > own ? terminal : own
  }
  throw new OperatorError(
    `the total difficulty of block ${number} does not follow from its header; name it with --total-difficulty (the ` +
      'member totalDifficulty of eth_getBlockByNumber)',
  )
}

function startRow(
  { rlp, header, hash, block }: StartHeader,
  total: bigint,
  schedule: ForkSchedule,
): StartBlock {
  const row = {
    number: header.number,
    hash: hash as StartBlock['hash'],
    header: rlp,
    totalDifficulty: toMinimalBytes(total),
    receipts: undefined,
  }
  if (block === undefined) return { ...row, body: undefined, senders: noBytes }
  const fork = schedule.forkAt(header.number, header.timestamp, schedule.isMerged(total - header.difficulty))
  try {
    checkContent(header, bodyItems(block.items), fork)
  } catch (error) {
    if (!(error instanceof InvalidBlockError)) throw error
    throw new OperatorError(`block ${header.number} (${bytesToHex(hash)}) is not whole: ${error.message}`)
  }
  const senders = new BlockExecutor(schedule, new RecoveredKeys()).recoverSenders(block.items, fork)
  const isWithout = equalBytes(header.receiptsRoot, emptyTrieRoot)
  return { ...row, body: block.bodyRlp, senders, receipts: isWithout ? encodeRlp([]) : undefined }
}
