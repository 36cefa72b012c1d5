/** Builds the demo network in memory: compiles contracts, runs the story, collects the examples. */
import { createAddressFromString } from '@ethereumjs/util'
import { bytesToHex, type Hex, padLeft, toQuantity } from '../../src/primitives/bytes.js'
import { type Account, miners, people, stranger } from './accounts.js'
import { loadKzg } from './blobs.js'
import { ChainBuilder, encodeChain } from './chainBuilder.js'
import { compileContracts } from './contracts.js'
import type { AccountExample, Examples, SlotExample } from './examples.js'
import { blockTimestamp, chainId, forkBlocks } from './forks.js'
import { buildGenesis, type Genesis, genesisAddresses } from './genesis.js'
import { collectLayouts } from './layouts.js'
import { renderReadme } from './readme.js'
import { emptyAccount } from './story/earlyWork.js'
import { tellEverything } from './story/everything.js'
import { type SlotRequest, Story } from './story.js'

/** The files of the demo network, as bytes of `data/devnet`. */
export interface Devnet {
  readonly genesis: Genesis
  readonly chain: Uint8Array
  readonly files: ReadonlyMap<
    'genesis.json' | 'chain.rlp' | 'examples.json' | 'layouts.json' | 'README.md',
    Uint8Array
  >
  readonly examples: Examples
}

async function readSlots(chain: ChainBuilder, story: Story): Promise<SlotExample[]> {
  const requests = [...story.slots].sort((a, b) => a.block - b.block)
  const examples: SlotExample[] = []
  for (const request of requests) examples.push(await readSlot(chain, story, request))
  await chain.stateManager.setStateRoot(chain.head.header.stateRoot)
  return examples
}

async function readSlot(chain: ChainBuilder, story: Story, request: SlotRequest): Promise<SlotExample> {
  const { label, contract, slot, how, block, value } = request
  const header = chain.blocks[block]?.header
  if (header === undefined) throw new Error(`slot ${label} asks for block ${block}, which does not exist`)
  await chain.stateManager.setStateRoot(header.stateRoot)
  const address = story.at(contract)
  const found = bytesToHex(
    padLeft(await chain.stateManager.getStorage(createAddressFromString(address), slot), 32),
  )
  if (
    value === undefined
      ? BigInt(found) === 0n
      : BigInt(found) !== BigInt(typeof value === 'bigint' ? value : bytesToHex(value))
  ) {
    throw new Error(`slot ${label} of ${contract} at block ${block} holds ${found}, the story says ${value}`)
  }
  return { label, contract, address, slot: bytesToHex(slot), how, block, value: found }
}

async function readAccounts(chain: ChainBuilder): Promise<AccountExample[]> {
  const examples: AccountExample[] = []
  const show = async (name: string, address: Hex, note: string, key?: Uint8Array) => {
    const account = await chain.stateManager.getAccount(createAddressFromString(address))
    const privateKey = key === undefined ? {} : { privateKey: bytesToHex(key) }
    const balance = toQuantity(account?.balance ?? 0n)
    examples.push({ name, address, note, ...privateKey, balance, nonce: Number(account?.nonce ?? 0n) })
  }
  const showOwned = (account: Account, note: string) =>
    show(account.name, account.hex, note, account.privateKey)
  for (const person of Object.values(people)) await showOwned(person, 'rich since genesis')
  for (const miner of miners) await showOwned(miner, 'has what it earned')
  await showOwned(stranger(1001), 'has what was withdrawn to it')
  await showOwned(emptyAccount, 'empty in the trie from block 2, absent since EIP-161 reached it')
  await show('retired', genesisAddresses.retired, 'nonce 7 since genesis, no code')
  await show('oneWei', genesisAddresses.oneWei, 'one wei since genesis')
  return examples
}

async function collectExamples(chain: ChainBuilder, story: Story): Promise<Examples> {
  const { head, blocks, totalDifficulties } = chain
  const total = toQuantity(totalDifficulties[totalDifficulties.length - 1] as bigint)
  return {
    chainId,
    genesisHash: bytesToHex((blocks[0] as typeof head).hash()),
    head: {
      number: Number(head.header.number),
      hash: bytesToHex(head.hash()),
      stateRoot: bytesToHex(head.header.stateRoot),
    },
    terminalTotalDifficulty: total,
    totalDifficulty: total,
    totalGasUsed: toQuantity(story.totalGasUsed),
    totalTransactions: story.totalTransactions,
    forks: Object.entries(forkBlocks).map(([name, block]) => ({
      name,
      block,
      timestamp: blockTimestamp(block),
    })),
    accounts: await readAccounts(chain),
    contracts: [...story.contracts.values()],
    slots: await readSlots(chain, story),
    blocks: story.blockExamples,
    transactions: story.transactionExamples,
  }
}

function jsonBytes(value: unknown): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(value, null, 1)}\n`)
}

/**
 * Builds everything from `contractsFolder`, the sources of the contracts. The same bytes on every run. Throws if a
 * transaction or a slot has another result than the story says.
 */
export async function buildDevnet(contractsFolder: string): Promise<Devnet> {
  const kzg = loadKzg()
  const artifacts = compileContracts(contractsFolder)
  const chain = await ChainBuilder.create(buildGenesis(artifacts, 0n), kzg)
  const story = new Story(chain, artifacts)
  await tellEverything(story, kzg)
  const examples = await collectExamples(chain, story)
  const genesis = buildGenesis(artifacts, BigInt(examples.terminalTotalDifficulty))
  const chainBytes = encodeChain(chain.blocks)
  const files: Devnet['files'] = new Map([
    ['genesis.json', jsonBytes(genesis)],
    ['chain.rlp', chainBytes],
    ['examples.json', jsonBytes(examples)],
    ['layouts.json', jsonBytes(collectLayouts(examples.contracts, artifacts))],
    ['README.md', new TextEncoder().encode(renderReadme(examples, chainBytes.length))],
  ] as const)
  return { genesis, chain: chainBytes, files, examples }
}
