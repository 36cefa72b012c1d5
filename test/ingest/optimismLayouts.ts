/**
 * OP Stack chains made here, with other orders of forks than op-geth's chains. The forks are all at the genesis,
 * several in one block, or one after the other. Contracts are those of Bedrock, or support all forks.
 */
import { privateKeyToAccount } from 'viem/accounts'
import { optimismForks } from '../../src/data/chain/families/optimism/forks.js'
import { decodeAccount } from '../../src/data/state/account.js'
import { ChainWriter } from '../../src/data/store/chainWriter.js'
import { bytesToHex, type Hash32, type Hex, hexToBytes, toAddress } from '../../src/primitives/bytes.js'
import { parseGenesis } from '../../src/sources/ingest/blocks/genesis.js'
import { BlockMaker } from '../../src/sources/ingest/develop/blockMaker.js'
import { importBlocks, openOptimism, optimismBlocks, optimismGenesis } from './optimismChain.js'

/** The first well-known key of test tools, for which developer chains sign. */
export const developer = privateKeyToAccount(
  '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
)
const firstTime = 1_730_000_000
const blockSeconds = 2
export const layoutBlocks = 14
const attributes = '4200000000000000000000000000000000000015'
const implementationSlot = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'

export interface Layout {
  readonly name: string
  /** First block of each fork; absent for never. */
  readonly forks: Readonly<Partial<Record<keyof typeof optimismForks, number>>>
  /** Whether contracts are those of Bedrock, which reject the attributes of later forks. */
  readonly isOld?: boolean
  readonly extraData?: string
}

const names = Object.keys(optimismForks).slice(1) as (keyof typeof optimismForks)[]
const upTo = (last: (typeof names)[number], block: (index: number) => number) =>
  Object.fromEntries(names.slice(0, names.indexOf(last) + 1).map((name, index) => [name, block(index)]))

export const layouts: readonly Layout[] = [
  ...names.map((last) => ({ name: `all to ${last} at the genesis`, forks: upTo(last, () => 0) })),
  { name: 'one fork a block', forks: upTo('karst', (index) => index + 1) },
  {
    name: 'one fork each second block, old contracts',
    forks: upTo('jovian', (index) => index * 2),
    isOld: true,
  },
  { name: 'three forks in a block', forks: upTo('karst', (index) => 2 + 4 * Math.floor(index / 3)) },
  { name: 'all forks in one block', forks: upTo('jovian', () => 3) },
  {
    name: 'parameters of the genesis, and a least base fee',
    forks: upTo('jovian', () => 0),
    extraData: '0x01000000640000000300000000b2d05e00',
  },
]

/** The text of a genesis with ether for {@link developer}. `contracts` replace those of op/a. */
export function layoutGenesis({ forks, extraData, isOld }: Layout, contracts: object): string {
  const { config, alloc, ...rest } = JSON.parse(optimismGenesis('a'))
  const times = [...names, 'shanghai', 'cancun', 'prague'].map((fork) => `${fork}Time`)
  const kept = Object.entries(config).filter(([name]) => !times.includes(name))
  const own = Object.entries(forks).flatMap(([fork, block]) => {
    const time = firstTime + blockSeconds * block
    const theirs = { canyon: 'shanghai', ecotone: 'cancun', isthmus: 'prague' }[fork as 'canyon']
    return [fork, theirs ?? []].flat().map((name) => [`${name}Time`, block === 0 ? 0 : time])
  })
  return JSON.stringify({
    ...rest,
    extraData: extraData ?? '0x',
    config: { ...Object.fromEntries([...kept, ...own]), chainId: 901 },
    alloc: {
      ...alloc,
      ...(isOld ? {} : contracts),
      [developer.address.slice(2)]: { balance: `0x${(10n ** 22n).toString(16)}` },
    },
  })
}

/** The attributes contract after all forks of the chain `a`: entries of `alloc`. */
export async function newestContracts(path: string): Promise<object> {
  const opened = openOptimism(path, optimismGenesis('a'))
  await importBlocks(opened, optimismBlocks('a').slice(1))
  const { store } = opened
  const slot = (key: string) =>
    store.readSlot(toAddress(hexToBytes(attributes)), hexToBytes(key) as Hash32) ?? new Uint8Array(0)
  const codeOf = (address: Uint8Array) => {
    const row = store.readAccount(toAddress(address)) ?? new Uint8Array(0)
    return {
      balance: '0x0',
      code: bytesToHex(store.readCode(decodeAccount(row).codeHash) ?? new Uint8Array(0)),
    }
  }
  const implementation = slot(implementationSlot)
  const { alloc } = JSON.parse(optimismGenesis('a'))
  const proxy = {
    ...alloc[attributes],
    storage: {
      ...alloc[attributes].storage,
      [implementationSlot]: `0x${bytesToHex(implementation).slice(2).padStart(64, '0')}`,
    },
  }
  const contracts = { [attributes]: proxy, [bytesToHex(implementation).slice(2)]: codeOf(implementation) }
  store.close()
  return contracts
}

/** Makes {@link layoutBlocks} blocks on a genesis, with transactions of several kinds and a payment. */
export async function makeLayout(path: string, genesis: string) {
  const { identity, blockDiff, schedule } = parseGenesis(genesis)
  const store = ChainWriter.openForWriting({ path, mapBytes: 2 ** 28 })
  store.initialize(identity, blockDiff)
  const said: string[] = []
  const maker = new BlockMaker(store, schedule, (text) => said.push(text))
  let nonce = 0
  const send = async (transaction: object, timestamp: number) => {
    const fees = { chainId: 901, gas: 200_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n }
    const type = 'eip1559'
    const raw = await developer.signTransaction({ ...fees, type, ...transaction, nonce: nonce++ } as never)
    maker.take(hexToBytes(raw), timestamp)
  }
  for (let number = 1; number <= layoutBlocks; number++) {
    const timestamp = firstTime + number * blockSeconds
    const payee: Hex = `0x${'ab'.repeat(20)}`
    if (number === 6) maker.make(timestamp, { address: hexToBytes(payee), gwei: 7n })
    else {
      await send({ to: payee, value: 1n }, timestamp)
      await send({ to: payee, data: `0x${'00ff'.repeat(100 * number)}` }, timestamp)
      await send({ data: '0x600160005260206000f3' }, timestamp)
      await send(
        {
          type: 'legacy',
          to: payee,
          gasPrice: 10n ** 10n,
          maxFeePerGas: undefined,
          maxPriorityFeePerGas: undefined,
        },
        timestamp,
      )
      maker.make(timestamp)
    }
  }
  return { store, schedule, said, waiting: maker.waiting }
}
