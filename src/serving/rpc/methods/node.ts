/** Facts about the node, and about the data that it stores of its chain. Owns no block and no state. */
import { basisOf } from '../../../data/chain/families/basis.js'
import { forkConfigJson } from '../../../data/chain/forkConfig.js'
import { syncProgressJson } from '../../../data/chain/syncProgress.js'
import { bytesToHex, concatBytes, toQuantity } from '../../../primitives/bytes.js'
import { keccak256 } from '../../../primitives/keccak.js'
import { chainMethod } from '../network.js'
import { bytes } from '../params/params.js'
import {
  addressSchema,
  booleanSchema,
  hashSchema,
  listSchema,
  mapSchema,
  nullable,
  objectSchema,
  quantitySchema,
  type Schema,
  textSchema,
} from '../params/schema.js'

/** Kind of data → the stored kind with which it is pruned. */
const storedKinds = {
  state: 'state',
  tx: 'bodies',
  logs: 'receipts',
  receipts: 'receipts',
  blocks: 'bodies',
  stateproofs: 'trie',
} as const
const kindsStored = Object.keys(storedKinds) as (keyof typeof storedKinds)[]
const storedSchema = objectSchema('Stored', { disabled: booleanSchema, oldestBlock: quantitySchema })

const contractsSchema = mapSchema('addresses by name', textSchema, addressSchema)
const integerSchema = { type: 'integer', minimum: 0 }
const forkSchema = nullable(
  objectSchema(
    'Fork',
    {
      activationTime: integerSchema,
      chainId: quantitySchema,
      forkId: { type: 'string', title: '4 bytes', pattern: '^0x[0-9a-f]{8}$' },
      precompiles: contractsSchema,
      systemContracts: contractsSchema,
    },
    {
      blobSchedule: objectSchema('BlobSchedule', {
        target: integerSchema,
        max: integerSchema,
        baseFeeUpdateFraction: integerSchema,
      }),
    },
  ),
)

const namespaces = [
  'admin',
  'debug',
  'erigon',
  'eth',
  'net',
  'ots',
  'personal',
  'rpc',
  'tidegate',
  'trace',
  'txpool',
  'web3',
]
const versions = JSON.stringify(Object.fromEntries(namespaces.map((namespace) => [namespace, '1.0'])))

function fixedAnswer(summary: string, result: Schema, json: string) {
  return chainMethod({ summary, price: 1, result, run: () => json })
}

export const nodeMethods = {
  /** As in go-ethereum, as far as it applies to a node without peers: no enode, no keys, ports of 0. */
  admin_nodeInfo: chainMethod({
    summary: 'Name of the program, and genesis, rules and head of the chain; there are no peers',
    price: 10,
    memo: 'head',
    result: objectSchema('NodeInfo', {
      name: textSchema,
      ports: { type: 'object' },
      protocols: { type: 'object' },
    }),
    run({ chain, clientVersion, networkId }) {
      const { genesisHash, config } = chain.identity
      const head = bytesToHex(chain.head.hash)
      const eth = `{"network":${networkId},"genesis":"${genesisHash}","config":${config},"head":"${head}"}`
      return `{"name":${JSON.stringify(clientVersion)},"ports":{"discovery":0,"listener":0},"protocols":{"eth":${eth}}}`
    },
  }),
  /** As in op-geth. */
  debug_chainConfig: chainMethod({
    summary: 'The rules of the chain: the config member of its genesis',
    price: 10,
    memo: 'head',
    result: { type: 'object' },
    run: ({ chain }) => chain.identity.config,
  }),
  /** This node does not store refused blocks. */
  debug_getBadBlocks: chainMethod({
    summary: 'Blocks that were refused lately',
    price: 1,
    memo: 'head',
    result: { ...listSchema({}), maxItems: 0 },
    run: () => '[]',
  }),
  eth_blockNumber: chainMethod({
    summary: 'Number of the newest block',
    price: 1,
    memo: 'head',
    result: quantitySchema,
    run: ({ chain }) => `"${toQuantity(chain.head.number)}"`,
  }),
  /** An archive stores everything since genesis except pruned data; a history stores no state. */
  eth_capabilities: chainMethod({
    summary: 'The parts that this node stores, each with its oldest block',
    price: 1,
    memo: 'head',
    result: objectSchema('Capabilities', {
      head: objectSchema('HeadName', { number: quantitySchema, hash: hashSchema }),
      ...Object.fromEntries(kindsStored.map((kind) => [kind, storedSchema])),
    }),
    run({ head, chain }) {
      const { oldest, kind: kept } = chain
      const isStored = (kind: string): boolean =>
        kept.state !== 'none' ||
        kind === 'blocks' ||
        kind === 'tx' ||
        (kept.hasReceipts && (kind === 'receipts' || kind === 'logs'))
      const everything = kindsStored.map((kind) => [
        kind,
        { disabled: !isStored(kind), oldestBlock: toQuantity(oldest[storedKinds[kind]]) },
      ])
      const { number, hash } = head
      return JSON.stringify({
        head: { number: toQuantity(number), hash: bytesToHex(hash) },
        ...Object.fromEntries(everything),
      })
    },
  }),
  /** EIP-695. */
  eth_chainId: chainMethod({
    summary: 'Chain id that transactions are signed for',
    price: 1,
    memo: 'head',
    result: quantitySchema,
    run: ({ chain }) => `"${toQuantity(BigInt(chain.identity.chainId))}"`,
  }),
  eth_config: chainMethod({
    summary: 'The current, the next and the last fork with their settings (EIP-7910)',
    price: 10,
    memo: 'head',
    result: objectSchema('ForkConfig', { current: forkSchema, next: forkSchema, last: forkSchema }),
    run({ chain, head }) {
      const { config, genesisHash, start } = chain.identity
      // Without the genesis, 0 serves: forks by time come later, so any time before them is correct.
      const genesis = chain.firstNumber === 0 ? chain.resolve({ kind: 'number', number: 0 }, 0) : undefined
      const genesisTime = start?.genesisTime ?? (genesis && chain.readHeader(genesis.hash)?.timestamp) ?? 0
      return forkConfigJson(
        { schedule: chain.schedule, config, genesisHash, genesisTime },
        head.header.timestamp,
      )
    },
  }),
  eth_hashrate: fixedAnswer('Mining hash rate of this node: always zero', quantitySchema, '"0x0"'),
  eth_mining: fixedAnswer('Whether this node mines: it does not', booleanSchema, 'false'),
  /** The progress while the source still has blocks to deliver, and the last block if the source failed. */
  eth_syncing: chainMethod({
    summary: 'False, or the progress of the source of the chain',
    price: 1,
    result: {
      oneOf: [
        { const: false },
        objectSchema('SyncProgress', {
          startingBlock: quantitySchema,
          currentBlock: quantitySchema,
          highestBlock: quantitySchema,
        }),
      ],
    },
    run: ({ syncing }) => (syncing === undefined ? 'false' : syncProgressJson(syncing)),
  }),
  net_listening: fixedAnswer('Whether this node accepts connections', booleanSchema, 'true'),
  net_peerCount: fixedAnswer('Number of peers of this node: always zero', quantitySchema, '"0x0"'),
  /** The chain id unless the configuration sets another. */
  net_version: chainMethod({
    summary: 'Network id, in decimal',
    price: 1,
    memo: 'head',
    result: textSchema,
    run: ({ networkId }) => JSON.stringify(networkId),
  }),
  rpc_discover: chainMethod({
    summary:
      'OpenRPC document of this service, with how each part of the network is verified, and from which block on it is stored',
    price: 10,
    memo: 'head',
    result: { type: 'object', title: 'OpenRPC document', required: ['openrpc', 'info', 'methods'] },
    run({ openRpc, chain }) {
      const own = { 'x-basis': basisOf(chain.identity), 'x-oldest': chain.storedFrom }
      return concatBytes(openRpc.subarray(0, -1), Buffer.from(`,${JSON.stringify(own).slice(1)}`))
    },
  }),
  /** As in go-ethereum. */
  rpc_modules: fixedAnswer(
    'Namespaces of methods, with their versions',
    mapSchema('versions by namespace', textSchema, textSchema),
    versions,
  ),
  /** `Tidegate/v0.1.0/linux-x64/node20.20.2`. */
  web3_clientVersion: chainMethod({
    summary: 'Name and version of this node',
    price: 1,
    memo: 'head',
    result: textSchema,
    run: ({ clientVersion }) => JSON.stringify(clientVersion),
  }),
  /** The original Keccak, not the SHA3-256 of the standard. */
  web3_sha3: chainMethod({
    summary: 'Keccak-256 of bytes',
    params: [bytes.as('data')],
    price: ([data]) => 1 + Math.floor(data.length / 1_024),
    result: hashSchema,
    run: (_network, [data]) => `"${bytesToHex(keccak256(data))}"`,
  }),
}
