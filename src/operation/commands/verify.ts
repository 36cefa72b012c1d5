/**
 * `tidegate verify`: checks a network's store against its own hashes. The check runs in a child process, because LMDB
 * crashes the process on some damaged files; the parent then reports it.
 */
import { randomInt } from 'node:crypto'
import { epochBlocks } from '../../data/ssz/verifyHeaderProof.js'
import { runReadingProcess } from '../../data/store/lmdb/readingProcess.js'
import { OperatorError } from '../../primitives/faults.js'
import { isThere } from '../../primitives/files.js'
import type { VerifiedEpoch } from '../../sources/ingest/era/verifyEpochs.js'
import type { GatewayReport } from '../../sources/ingest/gateway/verifyGateway.js'
import type { VerifyReport } from '../../sources/ingest/verify/verifyChain.js'
import type { VerifyConfig } from '../config/config.js'
import { type Io, untilInterrupted } from '../process/terminal.js'
import type { VerifyMessage, VerifyTask } from './verifyProcess.js'

/**
 * Checks a store; resolves to the exit status: 1 if a fault was found. Rejects with OperatorError if there is no store
 * or it cannot be read.
 */
export async function verify(config: VerifyConfig, io: Io): Promise<number> {
  const { network } = config
  if (!isThere(network.storePath)) {
    throw new OperatorError(
      `network ${network.name} has no store at ${network.storePath}; check --data and --network`,
    )
  }
  const seed = config.seed ?? randomInt(2 ** 31)
  const task = { path: network.storePath, mapBytes: config.mapBytes, blocks: config.blocks, seed }
  const report = await untilInterrupted(io, 'stopped; the check is not complete', (stop) =>
    runCheck(task, stop),
  )
  io.out(reportText(network.name, report, seed))
  for (const fault of report.faults) io.err(`tidegate: ${fault}`)
  if (report.faults.length === 0) return 0
  io.err(
    `tidegate: the store ${network.storePath} is damaged; restore a copy or import the chain again into an empty folder`,
  )
  return 1
}

/**
 * Rejects with OperatorError if the store cannot be read, if the child crashed while reading it, or if the child was
 * ended.
 */
async function runCheck(task: VerifyTask, stop: AbortSignal): Promise<VerifyReport | GatewayReport> {
  const showProgress = process.stderr.isTTY
  let last: Exclude<VerifyMessage, { readonly type: 'progress' }> | undefined
  const onMessage = (message: VerifyMessage) => {
    if (message.type !== 'progress') last = message
    else if (showProgress) process.stderr.write(`\r\x1b[K${message.what} ${Math.floor(message.done * 100)} %`)
  }
  const { signal, account } = await runReadingProcess('verifyProcess', task, { onMessage, stop }).finally(
    () => {
      if (showProgress) process.stderr.write('\r\x1b[K')
    },
  )
  if (last === undefined) throw withoutReport(task.path, signal, account)
  if (last.type === 'report') return last.report
  if (last.type === 'refused') throw new OperatorError(last.message)
  throw unreadable(task.path, last.why.split('\n')[0] ?? '')
}

function unreadable(path: string, why: string): OperatorError {
  return new OperatorError(
    `the store ${path} is damaged so that it cannot be read (${why}); restore a copy or import the chain again into an empty folder`,
  )
}

/** The error for a child that ended without a report: from its signal, or from its status and output. */
function withoutReport(path: string, signal: string | null, account: string): OperatorError {
  switch (signal) {
    // LMDB followed a damaged page out of its map.
    case 'SIGSEGV':
    case 'SIGBUS':
      return unreadable(path, signal)
    // LMDB ends the process in this way at an inconsistent page, and V8 without memory.
    case 'SIGABRT':
    case 'SIGTRAP':
      return new OperatorError(
        `the check of the store ${path} broke off (${signal}): either Node.js had too little memory, or the store is damaged; run it again with NODE_OPTIONS=--max-old-space-size=8192, and if it breaks off again, restore a copy or import the chain again into an empty folder`,
      )
    case null:
      return new OperatorError(
        `the check of the store ${path} ended without a report (${account}), so the store was not checked; remove the cause and run it again`,
      )
    default:
      return new OperatorError(
        `the check of the store ${path} was ended (${signal}), perhaps for lack of memory, so the store was not checked; run it again`,
      )
  }
}

function epochLines({ first, last, accumulator, link, isTrusted }: VerifiedEpoch, index: number): string[] {
  const root = accumulator === undefined ? 'no accumulator' : `accumulator ${accumulator}`
  const trusted = isTrusted ? ', in a list of trusted ones when it was imported' : ''
  const begins =
    link === 'genesis'
      ? `  block ${first} is the genesis, to which all others link`
      : `  block ${first} links to no block before it: that these blocks are the network's is for accumulators to say`
  return [
    ...(index === 0 ? [begins] : []),
    `  epoch ${first / epochBlocks}, blocks ${first} to ${last}: ${root}, made anew from the headers${trusted}`,
  ]
}

function reportText(network: string, report: VerifyReport | GatewayReport, seed: number): string {
  const { faults } = report
  return [
    `Checked ${network}:`,
    ...('linkedFrom' in report ? gatewayLines(report) : chainLines(report, seed)),
    faults.length === 0
      ? 'No fault found.'
      : `${faults.length} ${faults.length === 1 ? 'fault' : 'faults'} found.`,
  ].join('\n')
}

function gatewayLines(report: GatewayReport): string[] {
  const { linkedFrom, head, blocks, bodies, receipts, transactions, nodes, codes, indexed } = report
  return [
    `  ${blocks} headers by their hashes, linked from block ${head} down to ${linkedFrom}`,
    `  bodies of ${bodies} blocks and receipts of ${receipts} against their roots`,
    `  ${transactions} transactions: hash and index entry`,
    ...(indexed === 0 ? [] : [`  the index of logs against the receipts of ${indexed} blocks`]),
    `  ${nodes} trie nodes and ${codes} codes, each by its hash`,
  ]
}

function chainLines(report: VerifyReport, seed: number): string[] {
  const { blocks, transactions, epochs, stateBlocks, accounts, slots, trieNodes, changedByHand } = report
  return [
    `  ${blocks} blocks: hash, link to the parent, total difficulty; transactions, uncles, withdrawals and receipts against their roots`,
    `  ${transactions} transactions: hash and index entry`,
    ...(epochs?.flatMap(epochLines) ?? [
      `  state at blocks ${stateBlocks.join(', ')} and the latest tables: ${accounts} accounts, ${slots} slots and their code against the tries (seed ${seed})`,
      `  ${trieNodes} rows of tries, of all blocks, and all code, each by its hash`,
    ]),
    ...(changedByHand === undefined ? [] : [`  ${changedByHand}: no other client can verify this chain`]),
  ]
}
