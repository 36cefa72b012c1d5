/** Logs as JSON-RPC shows them, from their consensus encoding. Field set and spelling follow go-ethereum. */
import { bytesToHex, toQuantity } from '../primitives/bytes.js'
import { decodeRlpList, type RlpItem, rlpBytes, rlpList } from '../primitives/rlp.js'
import { type BlockRows, transactionPlace } from './blockRows.js'
import { bytesKey, type LogKeys } from './logFilter.js'
import type { TransactionPlace } from './transactionJson.js'

/** One log of a block: what filters look at, and the object of eth_getLogs as ASCII text. */
export interface BlockLog extends LogKeys {
  readonly json: string
}

/** Members of a log or receipt that say which transaction it is of. */
export function placeMembers(place: TransactionPlace): string {
  return (
    `"blockNumber":"${toQuantity(place.blockNumber)}","transactionHash":"${bytesToHex(place.hash)}"` +
    `,"transactionIndex":"${toQuantity(place.index)}","blockHash":"${bytesToHex(place.blockHash)}"`
  )
}

/** A log object; `members` are its {@link placeMembers}, `index` counts the block's logs. */
export function logJson(log: RlpItem, members: string, timestamp: number, index: number): string {
  const [address, topics, data] = rlpList(log)
  const topicParts = rlpList(topics).map((topic) => `"${bytesToHex(rlpBytes(topic))}"`)
  return (
    `{"address":"${bytesToHex(rlpBytes(address))}","topics":[${topicParts.join(',')}]` +
    `,"data":"${bytesToHex(rlpBytes(data))}",${members}` +
    `,"blockTimestamp":"${toQuantity(timestamp)}","logIndex":"${toQuantity(index)}","removed":false}`
  )
}

/** The object of a log whose block is no longer canonical. */
export function removedLogJson(json: string): string {
  return `${json.slice(0, -'false}'.length)}true}`
}

/** All logs of an executed block, in order; `receipts` is the row of the store. */
export function blockLogs(rows: BlockRows, receipts: Uint8Array): BlockLog[] {
  const found: BlockLog[] = []
  for (const [index, item] of decodeRlpList(receipts).entries()) {
    const receipt = rlpBytes(item)
    const isLegacy = (receipt[0] as number) >= 0xc0
    const [, , , logs] = decodeRlpList(isLegacy ? receipt : receipt.subarray(1))
    const place = transactionPlace(rows, index)
    const members = placeMembers(place)
    for (const log of rlpList(logs)) {
      const [address, topics] = rlpList(log)
      found.push({
        address: bytesKey(rlpBytes(address)),
        topics: rlpList(topics).map((topic) => bytesKey(rlpBytes(topic))),
        json: logJson(log, members, place.timestamp, found.length),
      })
    }
  }
  return found
}
