/**
 * Which waiting transactions a block for a consensus client has; each built block is imported again, with all checks.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { privateKeyToAccount } from 'viem/accounts'
import { forkRules } from '../../../../src/data/chain/forkRules.js'
import { toTimestamp } from '../../../../src/data/chain/header.js'
import { ChainWriter } from '../../../../src/data/store/chainWriter.js'
import {
  bytesToHex,
  type Hash32,
  type Hex,
  hexToBytes,
  joinBytes,
  noBytes,
  padLeft,
  toHash32,
} from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { decodeRlpList, encodeRlp } from '../../../../src/primitives/rlp.js'
import { parseBlock } from '../../../../src/sources/ingest/blocks/block.js'
import { parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../../../src/sources/ingest/blocks/importer.js'
import { BlockMaker } from '../../../../src/sources/ingest/develop/blockMaker.js'
import { amsterdamConfig, keysUpTo, mergedConfig, testGenesis } from '../../../ingest/chainMaker.js'
import { builderContracts } from '../../../ingest/listedChain.js'
import { skipsOptimism } from '../../../ingest/optimismChain.js'
import { layoutGenesis, layouts } from '../../../ingest/optimismLayouts.js'

const gwei = 10n ** 9n
const payee: Hex = `0x${'ab'.repeat(20)}`
const people = keysUpTo(6).map((key) => privateKeyToAccount(bytesToHex(key)))

interface Offer {
  /** Index of the sender. */
  readonly from: number
  readonly nonce?: number
  readonly tip: bigint
  readonly gas?: bigint
  readonly value?: bigint
  readonly data?: Hex
}

/** A genesis with ether for all senders; the code of the last one is no account's. */
function genesisWith(config: Record<string, unknown>): string {
  const genesis = testGenesis(config, { difficulty: '0x0' })
  const alloc = genesis.alloc as Record<string, object>
  // From Amsterdam on, a transfer that creates an account needs more gas.
  alloc[payee] = { balance: '0x1' }
  if (config.amsterdamTime !== undefined) Object.assign(alloc, builderContracts)
  for (const { address } of people) alloc[address.toLowerCase()] = { balance: '0xde0b6b3a7640000' }
  alloc[(people.at(-1) as { address: Hex }).address.toLowerCase()] = {
    balance: '0xde0b6b3a7640000',
    code: '0x00',
  }
  return JSON.stringify(genesis)
}

let stores = 0

function open(t: Test, genesis: string) {
  const { identity, blockDiff, schedule } = parseGenesis(genesis)
  const store = ChainWriter.openForWriting({
    path: join(t.testdirName, `${stores++}.mdb`),
    mapBytes: 2 ** 28,
  })
  t.teardown(() => store.close())
  store.initialize(identity, blockDiff)
  const said: string[] = []
  const maker = new BlockMaker(store, schedule, (text) => said.push(text))
  const importer = new ChainImporter(store, schedule)
  const timestamp = toTimestamp(BigInt(maker.head.timestamp) + 12n)
  const send = async ({ from, nonce = 0, tip, gas = 21_000n, value = 0n, data = '0x' }: Offer) => {
    const fees = { maxFeePerGas: 20n * gwei, maxPriorityFeePerGas: tip * gwei }
    const tx = {
      chainId: Number(schedule.config.chainId),
      type: 'eip1559',
      nonce,
      gas,
      to: payee,
      value,
      data,
    } as const
    const raw = await (people[from] as (typeof people)[number]).signTransaction({ ...tx, ...fees })
    return bytesToHex(maker.take(hexToBytes(raw), Number(timestamp)))
  }
  /** Builds a block on the head, and imports it. Returns the hashes of the transactions that waited for it. */
  const build = async () => {
    const fork = maker.nextFork(Number(timestamp))
    const opening = forkRules(fork).execution.openBlock?.({
      fork,
      number: 1,
      forkBefore: fork,
      slot: (address, slot) => padLeft(store.readSlot(address as never, slot as Hash32) ?? noBytes, 32),
      payment: undefined,
    })
    const { diff, sent } = maker.build({
      fields: { timestamp, parentBeaconBlockRoot: toHash32(new Uint8Array(32)) },
      withdrawals: [],
      opening,
      mayInclude: () => true,
    })
    const list = diff.blockAccessList === undefined ? [] : [decodeRlpList(diff.blockAccessList)]
    const block = parseBlock(encodeRlp([decodeRlpList(diff.header), ...decodeRlpList(diff.body), ...list]))
    await importer.importBeside(block)
    t.ok(store.hasHeader(diff.hash as Hash32), 'the block is valid')
    return sent.map(({ hash }) => bytesToHex(hash))
  }
  return { maker, send, build, said }
}

for (const [name, config] of [
  ['Prague', mergedConfig()],
  ['Amsterdam', amsterdamConfig()],
] as const) {
  t.test(`at ${name}, one that does not fit is left out with the later ones of its sender`, async (t) => {
    t.testdir()
    const { send, build, said, maker } = open(t, genesisWith(config))
    const { gasLimit } = maker.head
    const first = await send({ from: 0, tip: 5n, gas: gasLimit - 2_000_000n })
    // The earlier transaction used little of its gas, but the block no longer has all of its gas limit.
    // From Amsterdam on, it needs 2 ** 24.
    const large = [
      await send({ from: 1, tip: 4n, gas: gasLimit - 10_000n }),
      await send({ from: 1, nonce: 1, tip: 4n }),
    ]
    const also = name === 'Amsterdam' ? large : []
    const fits = await send({ from: 2, tip: 3n, gas: gasLimit - 2_000_000n })
    // Together these transactions cost more than the sender has.
    const payable = await send({ from: 3, tip: 2n, value: 6n * 10n ** 17n })
    await send({ from: 3, nonce: 1, tip: 9n, value: 6n * 10n ** 17n })
    await send({ from: 3, nonce: 2, tip: 9n })
    const refused = await send({ from: 5, tip: 1n })
    const last = await send({ from: 4, tip: 1n })
    t.strictSame(await build(), [first, ...also, fits, payable, last])
    t.equal(said.length, 1, 'the refused one that no other of its sender precedes')
    t.match(said[0], new RegExp(`${refused}.* is dropped: .*sender not an eoa`))
    t.equal(maker.waiting.all.length, 8, 'all others wait')
  })
}

const layoutOf = (last: string) => {
  const layout = layouts.find(({ name }) => name === `all to ${last} at the genesis`)
  if (layout === undefined) throw new Error(`no layout with ${last}`)
  return { ...layout, isOld: true }
}

/** A genesis of the OP Stack with ether for all senders. */
function optimismWith(last: string): string {
  const genesis = JSON.parse(layoutGenesis(layoutOf(last), {}))
  for (const { address } of people)
    genesis.alloc[address.slice(2).toLowerCase()] = { balance: '0xde0b6b3a7640000' }
  return JSON.stringify(genesis)
}

for (const last of ['granite', 'jovian']) {
  t.test(
    `at ${last}, data in batches is bounded by transaction and by block`,
    { skip: skipsOptimism },
    async (t) => {
      t.testdir()
      const { send, build, maker } = open(t, optimismWith(last))
      // Hashes do not compress: their 960 bytes are more than 500 by the estimate.
      const hashes = Array.from({ length: 30 }, (_, at) => keccak256(Uint8Array.of(at)))
      const data: Hex = bytesToHex(joinBytes(hashes))
      const long = await send({ from: 0, tip: 5n, gas: 200_000n, data })
      const after = await send({ from: 0, nonce: 1, tip: 5n })
      // 100 bytes is the minimum of the estimate.
      const short = [
        await send({ from: 1, tip: 4n }),
        await send({ from: 2, tip: 3n }),
        await send({ from: 3, tip: 2n }),
      ]
      const [one, two] = short
      t.strictSame(await build(), [long, after, ...short], 'without limits')
      maker.dataLimits = { ofTransaction: 500n, ofBlock: undefined }
      t.strictSame(await build(), short, 'the long one is left out with the next of its sender')
      maker.dataLimits = { ofTransaction: undefined, ofBlock: 299n }
      t.strictSame(await build(), [one, two], 'two of 100 bytes')
      maker.dataLimits = { ofTransaction: 99n, ofBlock: undefined }
      t.strictSame(await build(), [])
    },
  )
}
