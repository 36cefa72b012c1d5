/** False answers of a node about the logs of a block. */
import type { Dice } from '../library/property.js'
import type { MadeReceipt } from './archiveNodes.js'

type Log = MadeReceipt['logs'][number]

/** Changes of logs; each returns changed receipts, or undefined if there is nothing to change. */
const lies: Readonly<
  Record<string, (receipts: readonly MadeReceipt[], dice: Dice) => MadeReceipt[] | undefined>
> = {
  drop: (receipts, dice) => withLogs(receipts, dice, (logs, at) => logs.toSpliced(at, 1)),
  dropAll: (receipts, dice) => withLogs(receipts, dice, () => []),
  repeat: (receipts, dice) => withLogs(receipts, dice, (logs, at) => logs.toSpliced(at, 0, logs[at] as Log)),
  add: (receipts, dice) => {
    const at = dice.throw(receipts.length)
    const log = { address: randomBytes(20, dice), topics: [randomBytes(32, dice)], data: new Uint8Array(0) }
    return receipts.map((each, index) => (index === at ? { ...each, logs: [...each.logs, log] } : each))
  },
  reorder: (receipts, dice) =>
    withLogs(receipts, dice, (logs, at) => {
      const other = logs.findIndex((log, index) => index !== at && !isSame(log, logs[at] as Log))
      if (other < 0) return undefined
      return logs.with(at, logs[other] as Log).with(other, logs[at] as Log)
    }),
  move: (receipts, dice) => {
    const from = dice.throw(receipts.length)
    const to = dice.throw(receipts.length)
    const [log] = receipts[from]?.logs ?? []
    if (log === undefined || from === to) return undefined
    return receipts.map((each, index) => {
      if (index === from) return { ...each, logs: each.logs.slice(1) }
      return index === to ? { ...each, logs: [...each.logs, log] } : each
    })
  },
  address: (receipts, dice) =>
    withLog(receipts, dice, (log) => ({ ...log, address: withOtherByte(log.address, dice) })),
  topic: (receipts, dice) =>
    withLog(receipts, dice, (log) => {
      const at = dice.throw(log.topics.length)
      const change = (topic: Uint8Array, index: number) => (index === at ? withOtherByte(topic, dice) : topic)
      return { ...log, topics: log.topics.map(change) }
    }),
  lessTopics: (receipts, dice) =>
    withLog(receipts, dice, (log) => ({ ...log, topics: log.topics.slice(0, -1) })),
  moreTopics: (receipts, dice) =>
    withLog(receipts, dice, (log) => ({ ...log, topics: [...log.topics, randomBytes(32, dice)] })),
  data: (receipts, dice) =>
    withLog(receipts, dice, (log) => ({
      ...log,
      data: log.data.length === 0 ? Uint8Array.of(1) : withOtherByte(log.data, dice),
    })),
}

const names = Object.keys(lies)

/** Makes one false change to the logs of a block with transactions. */
export function lieAboutLogs(
  receipts: readonly MadeReceipt[],
  dice: Dice,
): { readonly name: string; readonly reported: readonly MadeReceipt[] } {
  for (;;) {
    const name = names[dice.throw(names.length)] as string
    const reported = lies[name]?.(receipts, dice)
    if (reported !== undefined && !isSameList(receipts, reported)) return { name, reported }
  }
}

function isSameList(a: readonly MadeReceipt[], b: readonly MadeReceipt[]): boolean {
  return textOf(a) === textOf(b)
}

function isSame(a: Log, b: Log): boolean {
  return textOf(a) === textOf(b)
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, each) => {
    if (typeof each === 'bigint') return String(each)
    return each instanceof Uint8Array ? Buffer.from(each).toString('hex') : each
  })
}

/** The same receipts with other logs in one receipt that has some. */
function withLogs(
  receipts: readonly MadeReceipt[],
  dice: Dice,
  change: (logs: readonly Log[], at: number) => readonly Log[] | undefined,
): MadeReceipt[] | undefined {
  const at = dice.throw(receipts.length)
  const logs = receipts[at]?.logs ?? []
  const changed = logs.length === 0 ? undefined : change(logs, dice.throw(logs.length))
  return changed && receipts.map((each, index) => (index === at ? { ...each, logs: changed } : each))
}

function withLog(receipts: readonly MadeReceipt[], dice: Dice, change: (log: Log) => Log) {
  return withLogs(receipts, dice, (logs, at) => logs.with(at, change(logs[at] as Log)))
}

function withOtherByte(bytes: Uint8Array, dice: Dice): Uint8Array {
  const at = dice.throw(bytes.length)
  return bytes.with(at, ((bytes[at] as number) + 1 + dice.throw(255)) % 256)
}

function randomBytes(count: number, dice: Dice): Uint8Array {
  return Uint8Array.from(dice.times(count, () => dice.throw(256)))
}
