/**
 * Chains of one kind of transaction each, the same on every machine, for imports. The kinds are plain transfers, token
 * transfers, and a mix of both with exchange swaps. Made by @ethereumjs, with real signatures and roots.
 */
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createAddressFromPrivateKey, createContractAddress } from '@ethereumjs/util'
import { encodeAbi } from '../../data/devnet/abi.js'
import { compileContracts } from '../../data/devnet/contracts.js'
import { createGenerator } from '../../data/devnet/generator.js'
import { concatBytes, hexToBytes } from '../../src/primitives/bytes.js'
import {
  ChainMaker,
  keysUpTo,
  mergedConfig,
  type TransactionPlan,
  testGenesis,
} from '../../test/ingest/chainMaker.js'
import { calldata, devnetFolder } from './demoFacts.js'

/** Kinds by their transactions. */
export type ImportChainKind = 'transfers' | 'tokens' | 'mixed'

const transactionsPerBlock = 20
const setupPerBlock = 50

/**
 * Writes `chain.rlp` and `genesis.json` into the folder. `blocks` does not count the blocks that set the chain up;
 * `accounts` send and receive. Takes minutes.
 */
export async function writeImportChain(
  kind: ImportChainKind,
  blocks: number,
  folder: string,
  accounts = 500,
): Promise<void> {
  const file = openSync(join(folder, 'chain.rlp'), 'w')
  const genesis = await makeImportChain(kind, blocks, accounts, (rlp) => writeSync(file, rlp))
  closeSync(file)
  writeFileSync(join(folder, 'genesis.json'), genesis)
}

/** Calls `take` with the blocks of a chain, one after the other, as RLP; returns its genesis. */
async function makeImportChain(
  kind: ImportChainKind,
  blocks: number,
  accounts: number,
  take: (rlp: Uint8Array) => void,
): Promise<string> {
  const keys = keysUpTo(accounts)
  const addresses = keys.map((key) => createAddressFromPrivateKey(key))
  const ether = Object.fromEntries(
    addresses.map((one) => [one.toString(), { balance: '0xffffffffffffffffffff' }]),
  )
  const genesis = testGenesis(mergedConfig())
  const maker = await ChainMaker.create({ ...genesis, alloc: { ...genesis.alloc, ...ether } } as never, keys)
  let head = maker.genesis
  const add = async (transactions: readonly TransactionPlan[]) => {
    head = await maker.extend(head, { transactions })
    if (head.results?.receipts.some((receipt) => (receipt as { status?: number }).status === 0)) {
      throw new Error(`a transaction of block ${head.number} failed`)
    }
    take(head.rlp)
  }

  const deployer = addresses[0] as (typeof addresses)[number]
  const [tokenA, tokenB, exchange] = [0n, 1n, 2n].map((nonce) =>
    createContractAddress(deployer, nonce).toString(),
  ) as [string, string, string]
  const call = (from: number, to: string, signature: string, values: Parameters<typeof calldata>[1]) => ({
    from,
    to,
    data: hexToBytes(calldata(signature, values)),
  })
  if (kind !== 'transfers') {
    const contracts = compileContracts(join(devnetFolder, 'contracts'))
    const creation = (name: string, types: readonly string[], values: Parameters<typeof encodeAbi>[1]) => ({
      data: concatBytes(contracts.get(name)?.creationCode as Uint8Array, encodeAbi(types, values)),
      gasLimit: 3_000_000n,
    })
    const token = creation('TideToken', ['string', 'string', 'uint256'], ['Tide', 'TIDE', 10n ** 30n])
    await add([token, token, creation('Exchange', ['address', 'address'], [tokenA, tokenB])])
    const approvals = addresses.flatMap((_, from) =>
      [tokenA, tokenB].map((to) => call(from, to, 'approve(address,uint256)', [exchange, 2n ** 256n - 1n])),
    )
    const grants = addresses.flatMap((one) =>
      [tokenA, tokenB].map((to) => call(0, to, 'transfer(address,uint256)', [one.toString(), 10n ** 24n])),
    )
    const setup = [...grants, ...approvals]
    for (let at = 0; at < setup.length; at += setupPerBlock) await add(setup.slice(at, at + setupPerBlock))
    await add([call(0, exchange, 'addLiquidity(uint256,uint256)', [10n ** 25n, 10n ** 25n])])
  }

  const random = createGenerator(blocks)
  const below = (end: number) => Math.floor(random() * end)
  const plans = {
    transfer: (from: number, to: string) => ({
      from,
      to,
      value: BigInt(1 + below(1_000_000)),
      gasLimit: 21_000n,
    }),
    token: (from: number, to: string) =>
      call(from, tokenA, 'transfer(address,uint256)', [to, 1 + below(1_000_000)]),
    swap: (from: number) =>
      call(from, exchange, 'swap(bool,uint256,uint256)', [random() < 0.5, 1 + below(10 ** 9), 0]),
  }
  const pick = {
    transfers: () => plans.transfer,
    tokens: () => plans.token,
    mixed: () => [plans.transfer, plans.token, plans.swap][below(3)] as typeof plans.transfer,
  }[kind]
  for (let left = blocks; left > 0; left--) {
    await add(
      Array.from({ length: transactionsPerBlock }, () =>
        pick()(below(accounts), String(addresses[below(accounts)])),
      ),
    )
  }
  return maker.genesisText
}
