/**
 * A chain of very many blocks with logs, the same on every machine, for searches. Each block has a transfer of one
 * token, which is in every block, and a log of one of many pools. Each account sends the token ten times in the whole
 * chain. 10,000 blocks, evenly spread, also have a log of {@link spreadToken}. Transactions are those of
 * syntheticBlocks.ts; there is no state.
 */
import { Blooms, encodeReceipt, type Receipt } from '../../src/execution/evm/blocks/receipts.js'
import { bytesToHex, concatBytes, padLeft, toMinimalBytes } from '../../src/primitives/bytes.js'
import { keccak256 } from '../../src/primitives/keccak.js'
import { noise, writeSyntheticChain } from './syntheticBlocks.js'

/** Raised with every change of the generated data: it is part of the name of a cached network. */
export const logsVersion = 1

/** Blocks written in one transaction of the store; with more, pages of random keys are written fewer times. */
const blocksPerCommit = 20_000

/** Number of sends per account, and of blocks with a log of {@link spreadToken}. */
export const logsPerSender = 10
export const spreadLogs = 10_000

const pools = 1_000
const gasUsed = 120_000

type Log = Receipt['logs'][number]

const addressOf = (salt: number, serial: number) => noise(salt, serial).subarray(12)
const token = addressOf(11, 1)
export const spreadToken = addressOf(12, 1)
const transfer = keccak256(Buffer.from('Transfer(address,address,uint256)'))
const sync = keccak256(Buffer.from('Sync(uint112,uint112)'))

/** Topics of every transfer from the account with this number, in a chain of `count` blocks. */
export function senderTopics(count: number, sender: number): string[] {
  return [transfer, accountTopic(sender % sendersOf(count))].map(bytesToHex)
}

export const tokenAddress = bytesToHex(token)

function sendersOf(count: number): number {
  return Math.max(1, Math.floor(count / logsPerSender))
}

function accountTopic(serial: number): Uint8Array {
  return padLeft(addressOf(13, serial), 32)
}

function logsOf(number: number, count: number): Log[] {
  const senders = sendersOf(count)
  const to = accountTopic(Number.parseInt(bytesToHex(noise(14, number).subarray(0, 4)), 16) % senders)
  const topics = [transfer, accountTopic(number % senders), to]
  const amount = padLeft(toMinimalBytes(number + 1), 32)
  const logs: Log[] = [
    { address: token, topics, data: amount },
    { address: addressOf(15, number % pools), topics: [sync], data: concatBytes(amount, amount) },
  ]
  const every = Math.max(1, Math.floor(count / spreadLogs))
  if (number % every === 0) logs.push({ address: spreadToken, topics, data: amount })
  return logs
}

export function writeSyntheticLogs(path: string, count: number): Promise<void> {
  return writeSyntheticChain(path, count, blocksPerCommit, (number) => {
    const logs = logsOf(number, count)
    const logsBloom = new Blooms().bloomOf(logs)
    const receipt = { type: 2, outcome: true, gasUsed: BigInt(gasUsed), logs }
    return { serials: [number], gasUsed, logsBloom, receipts: [encodeReceipt(receipt, logsBloom)] }
  })
}
