/** Blocks that two threads execute by their access list come out as those that are executed in order. */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import {
  type AccountAccess,
  blockAccessListHash,
  decodeBlockAccessList,
  encodeBlockAccessList,
} from '../../../../src/data/chain/blockAccessList.js'
import type { ForkSchedule } from '../../../../src/data/chain/forks.js'
import { encodeHeader } from '../../../../src/data/chain/header.js'
import { RecentTries } from '../../../../src/data/state/trie.js'
import { PartsExecutor } from '../../../../src/execution/evm/blocks/executeInParts.js'
import { RecoveredKeys } from '../../../../src/execution/evm/transactions/recoveredKeys.js'
import { DicedThread } from '../../../ingest/dicedThread.js'
import { throwChain } from '../../../ingest/listedBlocks.js'
import type { ListedBlock } from '../../../ingest/listedChain.js'
import { Dice, propertyRuns, runsFactor } from '../../../library/property.js'

const blocksPerChain = 4

function executorOf(schedule: ForkSchedule, thread: DicedThread): PartsExecutor {
  const recent = new RecentTries()
  return new PartsExecutor(schedule, new RecoveredKeys(), thread, { recent })
}

/** All of a block's access list, in a form that may be changed. */
function accountsOf({ blockAccessList }: ListedBlock): AccountAccess[] {
  return [...decodeBlockAccessList(blockAccessList, { transactionCount: 1_000, gasLimit: 10n ** 12n })]
}

/** The block with another list, whose hash its header has. */
function withList(block: ListedBlock, accounts: readonly AccountAccess[]): ListedBlock {
  const blockAccessList = encodeBlockAccessList(accounts)
  const header = { ...block.header, blockAccessListHash: blockAccessListHash(blockAccessList) }
  return { ...block, blockAccessList, header, headerRlp: encodeHeader(header) }
}

const lies = ['account', 'read', 'write', 'value', 'index', 'balance', 'nonce', 'added'] as const

/** The list with one lie in it; undefined where there is nothing to lie about. */
function lieIn(accounts: readonly AccountAccess[], dice: Dice): AccountAccess[] | undefined {
  const lie = lies[dice.throw(lies.length)]
  const at = dice.throw(accounts.length)
  const account = accounts[at] as AccountAccess
  const replaced = (by: Partial<AccountAccess>) => accounts.with(at, { ...account, ...by })
  const { storageChanges, storageReads, balanceChanges, nonceChanges } = account
  const bumped = (value: Uint8Array) => Uint8Array.of(1 + ((value[0] ?? 0) % 255), ...value.subarray(1))
  const bumpedLast = (changes: AccountAccess['nonceChanges']) =>
    changes.map((change, index) =>
      index === changes.length - 1 ? { ...change, value: bumped(change.value) } : change,
    )
  if (lie === 'account') return accounts.toSpliced(at, 1)
  if (lie === 'added') {
    const address = new Uint8Array(20).fill(0xff)
    return [...accounts, { ...account, address, storageChanges: [], storageReads: [], codeChanges: [] }]
  }
  if (lie === 'read')
    return storageReads.length > 0 ? replaced({ storageReads: storageReads.slice(1) }) : undefined
  if (lie === 'balance')
    return balanceChanges.length > 0 ? replaced({ balanceChanges: bumpedLast(balanceChanges) }) : undefined
  if (lie === 'nonce')
    return nonceChanges.length > 0 ? replaced({ nonceChanges: bumpedLast(nonceChanges) }) : undefined
  const [first, ...others] = storageChanges
  if (first === undefined) return undefined
  if (lie === 'write') return replaced({ storageChanges: others })
  const changes =
    lie === 'value'
      ? first.changes.map((change) => ({ ...change, value: bumped(change.value) }))
      : first.changes.map((change) => ({ ...change, index: change.index + 1 }))
  return replaced({ storageChanges: [{ ...first, changes }, ...others] })
}

t.test('random blocks come out as in order, whoever runs which share', async (t) => {
  const { seed = 0 } = propertyRuns(1)
  let blocks = 0
  let executed = 0
  let shared = 0
  let transactions = 0
  let slots = 0
  let lists = 0
  for (let run = 0; run < 15 * runsFactor; run++) {
    const dice = new Dice(seed + run)
    const { chain, next } = throwChain(dice)
    const thread = new DicedThread(chain.schedule, dice)
    const executor = executorOf(chain.schedule, thread)
    for (let number = 0; number < blocksPerChain; number++) {
      const block = next()
      blocks++
      const count = (block.items[1] as readonly unknown[]).length
      const where = `block ${number} of seed ${seed + run}`
      const found = await executor.execute(block, block.below, chain.ancestorHash)
      if (count < 2) t.equal(found, undefined, 'a single transaction is no work for two')
      else if (found === undefined) t.fail(`${where} was refused`)
      else {
        if (!isDeepStrictEqual(found, block.executed)) t.strictSame(found, block.executed, where)
        executed++
        transactions += count
        slots += found.changes.slots.length
        let lie = lieIn(accountsOf(block), dice)
        // The first account may have nothing of the kind.
        for (let tries = 0; lie === undefined && tries < 20; tries++) lie = lieIn(accountsOf(block), dice)
        if (lie !== undefined) {
          const lied = await executor.execute(withList(block, lie), block.below, chain.ancestorHash)
          if (lied !== undefined) t.fail(`a lie about ${where} was believed`)
          lists++
        }
      }
      chain.go(block)
    }
    shared += thread.blocks
  }
  // All but a few blocks have several transactions, change some slots, and have something to lie about.
  t.ok(executed >= 0.7 * blocks, `${executed} of ${blocks} blocks`)
  t.ok(lists >= 0.8 * executed, `${lists} false lists`)
  t.ok(shared >= executed, `the thread was given ${shared} blocks`)
  t.ok(transactions >= 3 * executed && slots >= executed)
  t.comment(`${executed} blocks: ${transactions} transactions, ${slots} slots changed, ${lists} false lists`)
})
