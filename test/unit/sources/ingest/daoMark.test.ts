/** EIP-779: ten blocks have extra data on the chain with the DAO fork, and none of them on a chain that refuses it. */
import t from 'tap'
import { ForkSchedule, parseGenesisConfig } from '../../../../src/data/chain/forks.js'
import type { Header } from '../../../../src/data/chain/header.js'
import { zeroHash } from '../../../../src/primitives/bytes.js'
import { emptyUnclesHash } from '../../../../src/primitives/keccak.js'
import { checkHeader } from '../../../../src/sources/ingest/blocks/blockRules.js'

const first = 5
const mark = Buffer.from('dao-hard-fork')
const base: Header = {
  parentHash: zeroHash,
  unclesHash: emptyUnclesHash,
  stateRoot: zeroHash,
  transactionsRoot: zeroHash,
  receiptsRoot: zeroHash,
  miner: new Uint8Array(20),
  logsBloom: new Uint8Array(256),
  gasUsed: 0n,
  difficulty: 131_072n,
  gasLimit: 5_000_000n,
  mixHash: zeroHash,
  nonce: new Uint8Array(8),
  number: 0,
  timestamp: 0,
  extraData: new Uint8Array(0),
}

/** Whether a block may be marked, and whether it may be unmarked. */
function mayBe(number: number, supports: boolean | undefined): readonly [marked: boolean, unmarked: boolean] {
  const members = supports === undefined ? {} : { daoForkSupport: supports }
  const config = parseGenesisConfig({ chainId: 1, homesteadBlock: 0, daoForkBlock: first, ...members })
  const schedule = new ForkSchedule(config)
  const parent = { ...base, number: number - 1 }
  const holds = (extraData: Uint8Array) => {
    const header = { ...base, number, timestamp: 500, extraData }
    const context = { schedule, ...schedule.childAt(number, header.timestamp, 0n) }
    try {
      checkHeader(header, parent, context)
      return true
    } catch (error) {
      t.match((error as Error).message, /^extraData is .* (that|none) of the DAO fork$/)
      return false
    }
  }
  return [holds(mark), holds(new Uint8Array(0))]
}

t.test('the mark is where the chain has the fork, and nowhere where it refuses it', async (t) => {
  for (const [supports, within] of [
    [true, [true, false]],
    [false, [false, true]],
    [undefined, [false, true]],
  ] as const) {
    t.strictSame(mayBe(first - 1, supports), [true, true], `before, support ${supports}`)
    for (const number of [first, first + 9]) t.strictSame(mayBe(number, supports), within, `${number}`)
    t.strictSame(mayBe(first + 10, supports), [true, true], `after, support ${supports}`)
  }
})
