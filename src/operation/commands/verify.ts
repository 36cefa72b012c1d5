/**
 * `tidegate verify`: checks a network's store against its own hashes. The check runs in a child process, because LMDB
 * crashes the process on some damaged files; the parent then reports it.
 */
import { fork } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { epochBlocks } from '../../data/ssz/verifyHeaderProof.js'
import { startedPath } from '../../primitives/builtFile.js'
import { OperatorError } from '../../primitives/faults.js'
import { accountOf, printedBytesMax } from '../../primitives/helperProcess.js'
import { isThere } from '../../primitives/isThere.js'
import type { VerifiedEpoch } from '../../sources/ingest/era/verifyEpochs.js'
import type { GatewayReport } from '../../sources/ingest/gateway/verifyGateway.js'
import type { VerifyReport } from '../../sources/ingest/verify/verifyChain.js'
import type { VerifyConfig } from '../config/config.js'
import type { Io } from '../process/io.js'
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
  const report = await runCheck({
    storePath: network.storePath,
    mapBytes: config.mapBytes,
    blocks: config.blocks,
    seed,
  })
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
function runCheck(task: VerifyTask): Promise<VerifyReport | GatewayReport> {
  return new Promise((resolve, reject) => {
    // LMDB prints lines about missing pages, which an error of the process may explain.
    const output = process.env.TIDEGATE_DEBUG === '1' ? 'inherit' : 'pipe'
    const child = fork(startedPath('verifyProcess'), { stdio: ['ignore', output, output, 'ipc'] })
    let printed = Buffer.alloc(0)
    const keepLast = (piece: Buffer) => {
      printed = Buffer.concat([printed, piece]).subarray(-printedBytesMax)
    }
    child.stdout?.on('data', keepLast)
    child.stderr?.on('data', keepLast)
    const showProgress = process.stderr.isTTY
    child.on('message', (message: VerifyMessage) => {
      if (message.type === 'progress') {
        if (showProgress) process.stderr.write(`\r\x1b[K${message.what} ${Math.floor(message.done * 100)} %`)
        return
      }
      if (showProgress) process.stderr.write('\r\x1b[K')
      if (message.type === 'report') resolve(message.report)
      else if (message.type === 'refused') reject(new OperatorError(message.message))
      else reject(unreadable(task.storePath, message.why.split('\n')[0] ?? ''))
    })
    child.on('error', reject)
    // The report may arrive after the child has exited; once the channel is closed, too, none will come.
    const onOver = () => {
      if (child.connected || (child.exitCode === null && child.signalCode === null)) return
      reject(
        withoutReport(
          task.storePath,
          child.signalCode,
          accountOf(child.signalCode ?? `status ${child.exitCode}`, printed),
        ),
      )
    }
    // On `close`, all its output has arrived.
    child.on('close', onOver)
    child.on('disconnect', onOver)
    // If the child ends before it has its task, its end is reported.
    child.send(task, () => undefined)
  })
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
    // LMDB ends so at an inconsistent page, V8 without memory.
    case 'SIGABRT':
    case 'SIGTRAP':
      return new OperatorError(
        `the check of the store ${path} broke off (${signal}): either Node.js had too little memory, or the store is damaged; run it again with NODE_OPTIONS=--max-old-space-size=8192, and if it breaks off again, restore a copy or import the chain again into an empty folder`,
      )
    case null:
      return new OperatorError(
        `the check of the store ${path} ended without a report (${account}), which says nothing of the store; remove the cause and run it again`,
      )
    default:
      return new OperatorError(
        `the check of the store ${path} was ended (${signal}), perhaps for lack of memory, which says nothing of the store; run it again`,
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
