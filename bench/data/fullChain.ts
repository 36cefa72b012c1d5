/**
 * A chain whose blocks use some 30 million gas: token transfers and exchange swaps among 500 accounts. The block maker
 * of developer chains makes it, the same on every machine.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createCommonFromGethGenesis } from '@ethereumjs/common'
import { createTx } from '@ethereumjs/tx'
import { createAddressFromPrivateKey, createContractAddress } from '@ethereumjs/util'
import { encodeAbi } from '../../data/devnet/abi.js'
import { compileContracts } from '../../data/devnet/contracts.js'
import { createGenerator } from '../../data/devnet/generator.js'
import { ChainWriter } from '../../src/data/store/chainWriter.js'
import { concatBytes, hexToBytes } from '../../src/primitives/bytes.js'
import { parseGenesis } from '../../src/sources/ingest/blocks/genesis.js'
import { BlockMaker } from '../../src/sources/ingest/develop/blockMaker.js'
import { keysUpTo, mergedConfig, testGenesis } from '../../test/ingest/chainMaker.js'
import { calldata, devnetFolder } from './demoFacts.js'

const accounts = 500
/** The maker counts the limits of transactions, of which they use half: 60 million, of which 30 are used. */
const gasLimit = '0x3938700'
const blockSeconds = 12
/** More transactions than a block takes: those left wait for the next one. */
const waitingMin = 1_000
/** Room for transfers, whose first change of a slot costs most, and for swaps. */
const gasLimits = { token: 60_000, swap: 140_000, setup: 120_000, creation: 3_000_000 }

type Values = Parameters<typeof calldata>[1]

/** Makes the chain in `folder`: `genesis.json` and `chain.mdb`. `blocks` does not count the blocks that set it up. */
export async function writeFullBlocks(folder: string, blocks: number): Promise<void> {
  const keys = keysUpTo(accounts)
  const addresses = keys.map((key) => createAddressFromPrivateKey(key))
  const bare = testGenesis(mergedConfig(), { difficulty: '0x0', gasLimit })
  const ether = Object.fromEntries(
    addresses.map((one) => [one.toString(), { balance: '0xffffffffffffffffffff' }]),
  )
  const genesis = { ...bare, alloc: { ...bare.alloc, ...ether } }
  const text = JSON.stringify(genesis)
  writeFileSync(join(folder, 'genesis.json'), text)
  const { identity, blockDiff, schedule } = parseGenesis(text)
  const store = ChainWriter.openForWriting({ path: join(folder, 'chain.mdb'), mapBytes: 2 ** 32 })
  store.initialize(identity, blockDiff)
  const maker = new BlockMaker(store, schedule, (why) => console.error(why))
  const common = createCommonFromGethGenesis(genesis as never, { chain: 'full' })
  const nonces = new Array<number>(accounts).fill(0)
  const nextTime = () => Number(maker.head.timestamp) + blockSeconds
  const send = (from: number, to: string | undefined, data: Uint8Array, gasLimit: number) => {
    const fees = { maxFeePerGas: 10n ** 15n, maxPriorityFeePerGas: 1n, chainId: 7357 }
    const nonce = nonces[from] as number
    const fields = { type: 2, nonce, gasLimit, data, ...(to !== undefined && { to }), ...fees }
    nonces[from] = nonce + 1
    maker.take(
      createTx(fields as never, { common })
        .sign(keys[from] as Uint8Array)
        .serialize(),
      nextTime(),
    )
  }
  const call = (from: number, to: string, signature: string, values: Values, gasLimit: number) =>
    send(from, to, hexToBytes(calldata(signature, values)), gasLimit)
  const makeAll = () => {
    while (maker.waiting.all.length > 0) maker.make(nextTime())
  }

  const contracts = compileContracts(join(devnetFolder, 'contracts'))
  const create = (name: string, types: readonly string[], values: Parameters<typeof encodeAbi>[1]) => {
    const code = contracts.get(name)?.creationCode as Uint8Array
    send(0, undefined, concatBytes(code, encodeAbi(types, values)), gasLimits.creation)
  }
  const [tokenA, tokenB, exchange] = [0n, 1n, 2n].map((nonce) =>
    createContractAddress(addresses[0] as never, nonce).toString(),
  ) as [string, string, string]
  const token: Parameters<typeof encodeAbi>[1] = ['Tide', 'TIDE', 10n ** 30n]
  for (let count = 0; count < 2; count++) create('TideToken', ['string', 'string', 'uint256'], token)
  create('Exchange', ['address', 'address'], [tokenA, tokenB])
  makeAll()
  for (const [from, address] of addresses.entries()) {
    for (const to of [tokenA, tokenB]) {
      call(0, to, 'transfer(address,uint256)', [address.toString(), 10n ** 24n], gasLimits.setup)
      call(from, to, 'approve(address,uint256)', [exchange, 2n ** 256n - 1n], gasLimits.setup)
    }
  }
  makeAll()
  call(0, exchange, 'addLiquidity(uint256,uint256)', [10n ** 25n, 10n ** 25n], 3 * gasLimits.setup)
  makeAll()

  const random = createGenerator(blocks)
  const below = (end: number) => Math.floor(random() * end)
  for (let left = blocks; left > 0; left--) {
    while (maker.waiting.all.length < waitingMin) {
      const from = below(accounts)
      const to = String(addresses[below(accounts)])
      const amount = 1 + below(10 ** 9)
      if (below(2) === 0) call(from, tokenA, 'transfer(address,uint256)', [to, amount], gasLimits.token)
      else call(from, exchange, 'swap(bool,uint256,uint256)', [random() < 0.5, amount, 0], gasLimits.swap)
    }
    maker.make(nextTime())
  }
  await store.close()
}
