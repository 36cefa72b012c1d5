/**
 * A chain from a seed, made by the block maker of developer chains, from the Merge to Amsterdam with a fork every few
 * blocks. Its genesis has random programs; its transactions are random, of all types but blobs. Times are fixed, so
 * that a seed makes the same chain each time.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { systemContracts } from '../../data/devnet/systemContracts.js'
import { ChainWriter } from '../../src/data/store/chainWriter.js'
import { hexToBytes } from '../../src/primitives/bytes.js'
import { FaultError } from '../../src/primitives/faults.js'
import { parseGenesis } from '../../src/sources/ingest/blocks/genesis.js'
import { BlockMaker } from '../../src/sources/ingest/develop/blockMaker.js'
import { amsterdamConfig } from '../ingest/chainMaker.js'
import { builderContracts } from '../ingest/listedChain.js'
import { writeInto } from '../library/folder.js'
import { Dice } from '../library/property.js'
import { Programs } from './programs.js'

export const chainId = 7357
export const firstTime = 1_800_000_000
const blockSeconds = 12
/** Blocks of each fork, from the Merge on. */
const blocksPerFork = 6
const forks = ['shanghai', 'cancun', 'prague', 'osaka', 'amsterdam'] as const
const blockCount = blocksPerFork * (forks.length + 2)

/** The senders; their keys are derived from these words, so that no other account has them. */
export const senders: readonly PrivateKeyAccount[] = [1, 2, 3, 4].map((key) =>
  privateKeyToAccount(`0x${key.toString(16).padStart(64, '0')}`),
)
const contracts = Array.from(
  { length: 12 },
  (_, at) => `0x${'c0de'.padEnd(38, '0')}${(at + 16).toString(16)}`,
)
const strangers = ['0x00000000000000000000000000000000000000ff', `0x${'57'.repeat(20)}`]

/** Addresses that programs of the chain name. */
export const named = [...contracts, ...strangers, ...senders.map(({ address }) => address.toLowerCase())]

/** A genesis with programs and senders, and the times of the forks after the Merge. */
export function inventGenesis(programs: Programs, forkTimes: Readonly<Record<string, number>>): object {
  const config = { ...amsterdamConfig(), ...forkTimes, chainId }
  const code = (text: string) => ({ balance: '0x5', nonce: '0x1', code: text })
  const alloc = Object.fromEntries([
    ...systemContracts.map(({ address, code: text }) => [address, { ...code(text), balance: '0x0' }]),
    ...Object.entries(builderContracts),
    ...contracts.map((address) => [address, code(programs.make(24))]),
    ...senders.map(({ address }) => [address, { balance: '0xd3c21bcecceda1000000' }]),
  ])
  const timestamp = `0x${firstTime.toString(16)}`
  return { config, alloc, timestamp, gasLimit: '0x3938700', difficulty: '0x0', baseFeePerGas: '0x3b9aca00' }
}

/**
 * A signed transaction to a contract, or one that creates a contract; of a type that the fork has. `nonces` are those of
 * {@link senders}.
 */
export async function inventTransaction(
  dice: Dice,
  programs: Programs,
  hasDelegations: boolean,
  nonces: number[],
): Promise<Uint8Array> {
  const who = dice.throw(senders.length)
  const sender = senders[who] as PrivateKeyAccount
  const nonce = nonces[who] ?? 0
  nonces[who] = nonce + 1
  const isCreation = dice.throw(6) === 0
  const data = isCreation || dice.throw(2) === 0 ? programs.make(20) : '0x'
  const to = isCreation ? undefined : programs.address()
  const gas = dice.throw(5) === 0 ? 60_000n : 400_000n
  const common = { chainId, nonce, gas, to, data, value: BigInt(dice.throw(3)) }
  const dear = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: BigInt(dice.throw(3)) * 10n ** 9n }
  const accessList = [{ address: programs.address(), storageKeys: [`0x${'0'.repeat(63)}1`] }]
  const chance = dice.throw(hasDelegations && !isCreation ? 4 : 3)
  const body = [
    { ...common, type: 'legacy', gasPrice: 10n ** 11n },
    { ...common, type: 'eip2930', gasPrice: 10n ** 11n, accessList },
    { ...common, ...dear, type: 'eip1559' },
  ][chance]
  if (body !== undefined) return hexToBytes(await sender.signTransaction(body as never))
  const authority = senders[(who + 1) % senders.length] as PrivateKeyAccount
  const authorization = await authority.signAuthorization({
    chainId,
    address: programs.address() as `0x${string}`,
    nonce: nonces[(who + 1) % senders.length] ?? 0,
  })
  // A valid authorization increases the nonce of the authority by one.
  nonces[(who + 1) % senders.length] = (nonces[(who + 1) % senders.length] ?? 0) + 1
  const delegating = { ...common, ...dear, type: 'eip7702', authorizationList: [authorization] }
  return hexToBytes(await sender.signTransaction(delegating as never))
}

/** Whether a transaction may wait: some have too little gas. */
function takes(maker: BlockMaker, raw: Uint8Array, timestamp: number): boolean {
  try {
    maker.take(raw, timestamp)
    return true
  } catch (error) {
    if (error instanceof FaultError) return false
    throw error
  }
}

/** Makes the chain into the store at `path`, and its genesis into `folder`; the path of the genesis. */
export async function inventChain(seed: number, folder: string, path: string): Promise<string> {
  const dice = new Dice(seed)
  const programs = new Programs(dice, named)
  const forkTimes = Object.fromEntries(
    forks.map((fork, at) => [`${fork}Time`, firstTime + blockSeconds * blocksPerFork * (at + 1)]),
  )
  const genesis = writeInto(folder, 'genesis.json', inventGenesis(programs, forkTimes))
  const { identity, blockDiff, schedule } = parseGenesis(readFileSync(genesis, 'utf8'))
  mkdirSync(dirname(path), { recursive: true })
  const store = ChainWriter.openForWriting({ path, mapBytes: 2 ** 30 })
  store.initialize(identity, blockDiff)
  // Transactions that cannot run are dropped: programs change nonces too.
  const maker = new BlockMaker(store, schedule, () => undefined)
  for (let number = 1; number <= blockCount; number++) {
    const timestamp = firstTime + number * blockSeconds
    const nonces = senders.map(({ address }) => Number(maker.accountOf(hexToBytes(address))?.nonce ?? 0))
    for (let count = dice.throw(6); count > 0; count--) {
      const hasDelegations = number > blocksPerFork * (forks.indexOf('prague') + 1)
      const raw = await inventTransaction(dice, programs, hasDelegations, nonces)
      if (!takes(maker, raw, timestamp)) break
    }
    maker.make(timestamp)
  }
  await store.close()
  return genesis
}
