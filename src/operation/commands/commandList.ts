/**
 * The commands, with their flags and help texts. The work is in the handlers, which are loaded only when they run, so
 * that `keys list` does not wait for the EVM to load.
 */
import { resolve } from 'node:path'
import { UsageError } from '../../primitives/faults.js'
import {
  blockSecondsMax,
  configSchema,
  devBalanceDefault,
  devChainIdDefault,
  edgesMax,
  isBeaconUrl,
  isPageOrigin,
  isUpstreamUrl,
  knownAccountsDefault,
  knownAccountsMax,
  logLevels,
  mergedConfig,
  originExpected,
  resolveDataConfig,
  resolveExportConfig,
  resolveImportConfig,
  resolveNetworkStoreConfig,
  resolveServeConfig,
  resolveStoresConfig,
  resolveVerifyConfig,
  transports,
  verifyBlocksDefault,
} from '../config/config.js'
import {
  type Command,
  choiceFlag,
  common,
  defineCommand,
  history,
  integerFlag,
  listFlag,
  patternFlag,
  switchFlag,
  textFlag,
  urlsFlag,
} from './commandLine.js'
import { keyCommands } from './keyCommands.js'

/** The commands that show records of the node store: usage of keys, and their changes. */
const usage = defineCommand({
  name: 'usage',
  summary: 'show the usage of the API keys',
  description: [
    'Adds up calls, errors, compute units and bytes of results by key, network, method and time. A running server stores what it counts each five seconds; 400 days are kept. Times are in UTC, and whole hours are counted.',
    'The key 000000000000 stands for all callers where no keys are needed, the method "other" for all that are not served.',
  ],
  flags: {
    by: textFlag('GROUPS', 'key, network, method, hour, day: any of them, separated by commas', {
      shownDefault: 'key,method',
    }),
    from: textFlag('TIME', 'first hour: a day such as 2026-11-22, or a time such as 2026-11-22T18:00Z', {
      shownDefault: 'a day before --to',
    }),
    to: textFlag('TIME', 'end of the time, as --from', { shownDefault: 'now' }),
    key: textFlag('ID', 'one key only'),
    network: textFlag('NAME', 'one network only'),
    method: textFlag('NAME', 'one method only'),
    json: switchFlag('print a JSON array instead of a table'),
    csv: switchFlag('print comma-separated values instead of a table'),
    ...common,
  },
  examples: [
    ['tidegate usage', 'each key and method, the last 24 hours'],
    ['tidegate usage --by day --key 3f9a1c0be27d --from 2026-11-01', 'one key, day by day'],
    ['tidegate usage --by key,day --from 2026-10-01 --to 2026-11-01 --csv', 'a month, for a bill'],
  ],
  run: async (flags, _words, io) =>
    (await import('./usage.js')).showUsage(resolveDataConfig(flags), flags, io),
})

const audit = defineCommand({
  name: 'audit',
  summary: 'show who changed keys, or check that this log is whole',
  description: [
    'Without "verify": the newest entries of the audit log, oldest first. There is one for each creation, change, rotation, revocation and taking over of an API key, for wrong tokens that the admin listener was sent, and for reloads of the configuration. Entries name keys by their ids, and settings without their values.',
    'With "verify": checks that no entry was changed, removed or moved, by the hash that each has of itself and all before it, and ends with status 1 where one was. Who can write the store could compute all hashes anew: keep the newest hash that this prints elsewhere, and give it the next time.',
  ],
  flags: {
    limit: integerFlag('N', 'entries at most', { min: 1, max: 1_000_000, shownDefault: '100' }),
    json: switchFlag('print a JSON array instead of a table'),
    hash: textFlag('HASH', 'with "verify": of an entry that must be there, once the newest'),
    ...common,
  },
  positionals: { placeholder: 'verify', summary: 'check the log instead of showing it', min: 0, max: 1 },
  examples: [
    ['tidegate audit --limit 20', 'the last twenty entries'],
    ['tidegate audit verify', 'check all of them'],
  ],
  run: async ({ limit = 100, json = false, hash, ...flags }, [word], io) => {
    const { listAudit, verifyAudit } = await import('./audit.js')
    if (word === undefined && hash === undefined) return listAudit(resolveDataConfig(flags), limit, json, io)
    if (word === 'verify') return verifyAudit(resolveDataConfig(flags), hash, io)
    throw new UsageError('write "tidegate audit", or "tidegate audit verify" with or without --hash')
  },
})

const bookCommands: readonly Command[] = [usage, audit]

const address = {
  host: textFlag('HOST', 'address to listen on', {
    shownDefault: '127.0.0.1, for this machine alone',
  }),
  port: integerFlag('PORT', 'port to listen on; 0 takes a free one', { max: 65_535, shownDefault: '8545' }),
  adminHost: textFlag('HOST', 'address of the admin listener (dashboard, metrics)', {
    shownDefault: '127.0.0.1',
  }),
  adminPort: integerFlag('PORT', 'port of the admin listener; 0 takes a free one', {
    max: 65_535,
    shownDefault: '8550, or the next free one',
  }),
}
const threads = {
  edges: integerFlag('N', 'threads that listen on the port, for more than one core; Linux alone', {
    min: 1,
    max: edgesMax,
    shownDefault: '1',
  }),
  transport: choiceFlag(
    'NAME',
    `library for HTTP: ${transports.join(', ')}; auto is uws (uWebSockets.js) where it can be loaded`,
    { choices: transports, shownDefault: 'auto' },
  ),
  logLevel: choiceFlag('LEVEL', `how much to log: ${logLevels.join(', ')}`, {
    choices: logLevels,
    shownDefault: 'info',
  }),
}
const access = {
  noAuth: switchFlag('answer without API keys; refused on an address that other machines can connect to'),
  cors: listFlag(
    'ORIGIN',
    'let web pages of this origin call, over HTTP and WebSocket; "localhost" for those of this machine, "*" for all; may be given several times',
    {
      isValid: isPageOrigin,
      expected: originExpected,
      shownDefault: 'all where keys are needed, none with --no-auth',
    },
  ),
}

/** Nodes whose answers are verified. */
function upstreamsFlag(summary: string) {
  return urlsFlag(summary, isUpstreamUrl, 'a URL of http, https, ws or wss')
}

function hashFlag(placeholder: string, summary: string) {
  return patternFlag(placeholder, summary, /^0x[0-9a-fA-F]{64}$/, '0x and 64 hex digits')
}

/** Flags for signatures of the consensus layer. */
function signatures(summary: string) {
  return {
    beacon: urlsFlag(summary, isBeaconUrl, 'a URL of http or https'),
    checkpoint: hashFlag('ROOT', 'root of a final beacon block that you trust; for the first start'),
  }
}

const serve = defineCommand({
  name: 'serve',
  summary: 'answer JSON-RPC requests over HTTP and WebSocket',
  description: [
    'Serves the networks of the configuration until it is interrupted (Ctrl-C or SIGTERM). Without a configuration it serves the embedded demo network and a rollup network that takes transactions. The first start makes an API key, and each prints requests to try.',
    'A configuration can limit what each API key may spend (limits.keyUnitsPerSecond); docs/api-keys.md lists the prices of calls.',
  ],
  flags: {
    ...common,
    ...address,
    network: textFlag(
      'NAME',
      'serve this network alone; without a configuration demo, rollup, or one that was imported',
    ),
    upstream: upstreamsFlag(
      'be a gateway to this node, whose answers are proved; may be given several times; without --network one network a chain, under the name by which the chain is known',
    ),
    logsFrom: integerFlag(
      'N',
      'with --upstream: fetch and prove the logs of all blocks from this one on, before anybody asks for them',
    ),
    history,
    ...threads,
    follow: textFlag(
      'URL',
      'follow the chain of the node at this URL (http, https, ws, wss), block by block',
    ),
    genesis: textFlag(
      'FILE',
      "geth's genesis.json, where the node of --follow does not report it, or the chain of --upstream is not known; of a new chain with --engine-port",
    ),
    enginePort: integerFlag(
      'PORT',
      'take the blocks of a consensus client, which calls the Engine API on this port; 0 takes a free one',
      { max: 65_535, shownDefault: '8551 with --jwt-secret' },
    ),
    engineHost: textFlag('HOST', 'address of that port', { shownDefault: '127.0.0.1' }),
    jwtSecret: textFlag('FILE', 'secret of the consensus client, 32 bytes in hex', {
      shownDefault: 'node/jwt.hex in the data folder, which is made',
    }),
    engineFrom: upstreamsFlag(
      'with --engine-port: fetch the blocks between the store and the chosen head from this node, by their hashes; repeatable',
    ),
    engineBeacon: urlsFlag(
      'with --engine-port: fetch them from the blocks of this beacon node, too; repeatable',
      isBeaconUrl,
      'a URL of http or https',
    ),
    ...signatures('take the head that validators signed, as this node shows; repeatable'),
    ...access,
  },
  examples: [
    ['tidegate serve', 'the demo network on http://127.0.0.1:8545'],
    ['tidegate serve --config tidegate.json', 'the networks of a configuration'],
    [
      'tidegate serve --upstream https://rpc.example.org/KEY',
      'a gateway to its chain, which proves and stores the answers of the upstream',
    ],
    ['tidegate serve --network sepolia --port 8600', 'a network that was imported, on another port'],
    [
      'tidegate serve --network dev --follow http://127.0.0.1:9545 --genesis genesis.json',
      'an archive in front of a node',
    ],
    [
      'tidegate serve --network mine --genesis g.json --engine-port 8551 --jwt-secret jwt.hex',
      'an archive under a consensus client',
    ],
  ],
  run: async (flags, _files, io) => {
    const given = resolveServeConfig(flags)
    const isNamed = flags.upstream === undefined || flags.network !== undefined
    const chains = isNamed ? undefined : await (await import('./upstreamChains.js')).upstreamChains(given)
    const read = () => resolveServeConfig({ ...flags, chains })
    return (await import('../process/serve.js')).serve(isNamed ? given : read(), read, io)
  },
})

const dev = defineCommand({
  name: 'dev',
  summary: 'serve a developer chain with funded accounts, as anvil and Hardhat do',
  description: [
    'Begins a chain of now, in which each of the accounts has ether, and makes a block for each transaction. It needs no file and no key, and prints the accounts with their secret keys, which all the world knows. docs/developer-chain.md lists the methods of anvil and Hardhat that it has.',
    'Without --data the chain is in a temporary folder, which is removed at the end.',
  ],
  flags: {
    port: address.port,
    chainId: integerFlag('N', 'chain id', { min: 1, shownDefault: String(devChainIdDefault) }),
    accounts: integerFlag('N', 'accounts that have ether', {
      min: 1,
      max: knownAccountsMax,
      shownDefault: String(knownAccountsDefault),
    }),
    balance: integerFlag('ETHER', 'ether of each account', { shownDefault: String(devBalanceDefault) }),
    blockTime: integerFlag('SECONDS', 'make a block at this interval, in place of one for each transaction', {
      min: 1,
      max: blockSecondsMax,
    }),
    noMining: switchFlag('make only blocks that are asked for, by evm_mine and others'),
    fork: textFlag(
      'URL[@BLOCK]',
      'begin on this block of the chain of a node, or on its newest one; each value that is read of it is proved and stored',
    ),
    data: textFlag(
      'DIR',
      'folder of the chain, which continues from its newest block; made if there is none',
    ),
    config: textFlag('FILE', 'configuration file whose limits apply; all else in it is not read'),
    logLevel: choiceFlag('LEVEL', threads.logLevel.summary, { choices: logLevels, shownDefault: 'warn' }),
  },
  examples: [
    ['tidegate dev', 'a chain on http://127.0.0.1:8545'],
    [
      'tidegate dev --port 8600 --chain-id 1337 --accounts 20',
      'with another port, chain id, and more accounts',
    ],
    [
      'tidegate dev --fork https://node.example@21000000 --data fork',
      'a chain on top of a block of another one, whose values are fetched once',
    ],
    ['tidegate dev --data chain --block-time 12', 'a chain that is kept, and has a block each 12 s'],
  ],
  run: async (flags, _words, io) => (await import('./dev.js')).dev(flags, io),
})

const importChain = defineCommand({
  name: 'import',
  summary: 'execute the blocks of chain files, or check archives, and store both',
  description: [
    'Executes every block of the chain files in the order given, checks each against its header, and stores it. A block that does not fit ends the import with status 1, and those before it stay. Blocks that the store has already are skipped, so an interrupted import continues where it stopped.',
    'Of archives (.era1, .ere; a folder stands for those in it) blocks and receipts are stored, and no state: each block is checked against its header, each epoch of 8,192 against its accumulator. An archive that is damaged, or leaves a gap, ends the import with status 1, and the epochs before it stay; an interrupted import begins its last epoch again. The networks mainnet, sepolia, holesky and hoodi need no genesis.',
    'Into a network that executes its blocks, also one that follows a node, archives are imported as chain files are. Beneath the blocks of a gateway they are stored without being executed, the newest first, where each block is the parent of the one above.',
  ],
  flags: {
    ...common,
    network: textFlag('NAME', 'network to import into; optional where only one is configured'),
    genesis: textFlag('FILE', "geth's genesis.json; needed at first unless configured or known"),
    state: textFlag(
      'FILE',
      'begin with the whole state after a block: a dump of reth or "geth dump --iterative", plain, .gz or .zst',
    ),
    stateFrom: upstreamsFlag('fetch blocks that no file has from this node; most of several must agree'),
    header: listFlag(
      'FILE',
      'of a state: its block and the 256 before it, as headers or blocks in RLP; may be given several times',
      { isValid: (text) => text !== '', expected: 'the path of a file' },
    ),
    ...signatures('where validators signed a block to which it has to lead'),
    hash: hashFlag('HASH', 'of a state: the hash that its block has to have'),
    totalDifficulty: patternFlag(
      'N',
      'of a state: the total difficulty, if no header has it',
      /^(0x[0-9a-f]{1,64}|\d{1,78})$/i,
      'an integer',
    ),
    history,
    accumulators: textFlag('FILE', 'trusted accumulators of archives alone, one hex root a line'),
  },
  positionals: {
    placeholder: 'CHAIN',
    summary:
      'chain files (RLP blocks one after another, plain or gzip), or archives (.era1, .ere) and folders of them',
    min: 0,
    max: 10_000,
  },
  examples: [
    [
      'tidegate import --network mychain --genesis genesis.json chain.rlp',
      'make the store of a network and fill it',
    ],
    [
      'tidegate import --network main --header blocks.rlp --state dump.jsonl.gz',
      'begin at a block, with the state after it',
    ],
    [
      'tidegate import --network main --state-from http://127.0.0.1:8545',
      'begin at the last final block of a node that serves whole states',
    ],
    ['tidegate import --network mychain more.rlp.gz', 'add blocks to it'],
    [
      'tidegate import --network sepolia era1/',
      'blocks and receipts of a public network, from a folder of archives',
    ],
  ],
  run: async (flags, files, io) => {
    const resolved = resolveImportConfig(flags, files)
    if (resolved.areArchives) return (await import('./importArchives.js')).importArchives(resolved, io)
    return (await import('./importChain.js')).importChain(resolved, io)
  },
})

const exportChain = defineCommand({
  name: 'export',
  summary: 'write the blocks of a store into archives and chain files, or its state after a block',
  description: [
    'Writes an era1 archive for each whole epoch of 8,192 blocks before the Merge, byte for byte as go-ethereum does, and a chain file (RLP blocks one after another) for others. With --state it writes the state after a block as JSON lines, which reth reads, too. Changes nothing in the store, and may run beside a server.',
  ],
  flags: {
    ...common,
    network: textFlag('NAME', 'network to export; may be left out if there is only one'),
    from: integerFlag('N', 'first block: the oldest, or the first of an epoch', {
      shownDefault: 'the oldest',
    }),
    to: integerFlag('N', 'last block', { shownDefault: 'the newest' }),
    state: switchFlag(
      'write the whole state after a block in place of blocks, and that block with 256 headers',
    ),
    block: integerFlag('N', 'block of --state', { shownDefault: 'the newest' }),
    out: textFlag('DIR', 'folder for the files', { isRequired: true }),
  },
  examples: [
    ['tidegate export --network sepolia --from 172032 --to 180223 --out era1', 'the epoch 21 of Sepolia'],
    [
      'tidegate export --network main --state --out state',
      'the data that another store needs to begin at this head',
    ],
  ],
  run: async (flags, _words, io) =>
    (await import('./exportChain.js')).exportChain(resolveExportConfig(flags), io),
})

const verify = defineCommand({
  name: 'verify',
  summary: 'check a store against its own hashes',
  description: [
    'Checks that the stored chain is whole and that the state of randomly chosen blocks leads to the state roots in their headers. Changes nothing, and may run beside a server. Ends with status 1 if anything is wrong.',
  ],
  flags: {
    ...common,
    network: textFlag('NAME', 'network to check; may be left out if there is only one'),
    blocks: integerFlag('N', 'blocks whose state is compared, beside the head', {
      max: 1_000_000,
      shownDefault: String(verifyBlocksDefault),
    }),
    seed: integerFlag('N', 'number from which the blocks are chosen, to repeat a run', {
      max: 2 ** 32 - 1,
      shownDefault: 'another in each run',
    }),
  },
  examples: [
    ['tidegate verify', 'the only network of the data folder'],
    ['tidegate verify --network mychain --blocks 100 --seed 7', '100 blocks, the same ones each time'],
  ],
  run: async (flags, _words, io) => {
    const resolved = resolveVerifyConfig(flags)
    return (await import('./verify.js')).verify(resolved, io)
  },
})

function oneFolder(summary: string) {
  return { placeholder: 'FOLDER', summary, min: 1, max: 1 }
}

const backUp = defineCommand({
  name: 'backup',
  summary: 'copy the data folder while it is in use',
  description: [
    'Copies the stores of all networks, API keys, submitted transactions and their secrets to a new folder, each store as of one moment, and writes a manifest with heads and checksums. Servers and imports go on meanwhile. The copy has no free pages, so it may be smaller. Without the manifest, which is written last, a folder is no backup. Who can read a backup has the secrets of the API keys.',
  ],
  flags: common,
  positionals: oneFolder('folder for the backup, which may not exist'),
  examples: [['tidegate backup /backups/2026-11-22', 'everything in data/live']],
  run: async (flags, [folder = ''], io) =>
    (await import('./backup.js')).backUp(resolveStoresConfig(flags), resolve(folder), io),
})

const snapshot = defineCommand({
  name: 'snapshot',
  summary: "copy one network's store while it is in use, for a replica to start from",
  description: [
    'Copies the store of one network as "backup" does, without API keys, submitted transactions and secrets. "restore" makes the network from it on another machine; a replica or standby there continues from its newest block.',
  ],
  flags: {
    ...common,
    network: textFlag('NAME', 'network to copy; may be left out if there is only one'),
  },
  positionals: oneFolder('folder for the snapshot, which may not exist'),
  examples: [['tidegate snapshot --network main /copies/main', 'the store of main']],
  run: async (flags, [folder = ''], io) =>
    (await import('./backup.js')).takeSnapshot(resolveNetworkStoreConfig(flags), resolve(folder), io),
})

const restore = defineCommand({
  name: 'restore',
  summary: 'make a data folder from a backup, or one network of it from a snapshot',
  description: [
    'Checks the manifest and the checksums of a backup and copies it to the data folder, which appears only once it is whole. A folder with anything in it is refused. Of a snapshot the same is true of the folder of its network, networks/NAME in the data folder; all else there stays as it is.',
    'The restored keys and submitted transactions are those of the time of the backup: revoke again what was revoked since.',
  ],
  flags: common,
  positionals: oneFolder('a folder that "backup" or "snapshot" made'),
  examples: [['tidegate restore /backups/2026-11-22 --data data/live', 'begin again from that backup']],
  run: async (flags, [folder = ''], io) =>
    (await import('./backup.js')).restore(resolveDataConfig(flags), resolve(folder), io),
})

const showConfig = defineCommand({
  name: 'config',
  summary: 'print the configuration as serve would use it, or its JSON Schema',
  description: [
    'Prints the configuration file with all defaults, the flags and absolute paths in it, as JSON. Starts nothing. Secrets are left out: of the URLs of nodes scheme and host are shown, of headers the names, with … for the rest. A faulty file ends with status 2 and every fault.',
    'The schema is stricter than the program in one place: it wants the kind of each network.',
  ],
  flags: {
    schema: switchFlag('print the JSON Schema of the file instead, for editors'),
    ...common,
    ...address,
    ...threads,
    ...access,
  },
  examples: [
    ['tidegate config --config tidegate.json', 'check a file, and see the resulting settings'],
    ['tidegate config --schema > tidegate.schema.json', 'the schema of the file'],
  ],
  run: async ({ schema, ...flags }, _words, io) => {
    io.out(JSON.stringify(schema ? configSchema() : mergedConfig(flags), undefined, 2))
    return 0
  },
})

const slot = defineCommand({
  name: 'slot',
  summary: "compute the storage slots of a mapping's entries",
  description: [
    'Prints the slot of an entry of a mapping, as "eth_getStorageAt" takes it. It needs no data and no server. MAPPING is the slot of the mapping itself, decimal or hex; the keys after it lead through mappings in mappings, outermost first.',
    'Without --types a key is 0x and hex digits, or a decimal number, padded to 32 bytes on the left: right for addresses and integers. Keys of type bytesN, bytes and string are padded otherwise, and negative integers need their type too. Write -- before a key that begins with a hyphen.',
  ],
  flags: {
    types: textFlag('TYPES', 'Solidity types of the keys, separated by commas, as in address,bytes32', {
      shownDefault: 'numbers and addresses',
    }),
    each: switchFlag('take each KEY as an entry of its own, and print one slot a line'),
  },
  positionals: {
    placeholder: 'MAPPING KEY',
    summary: 'slot of the mapping, then its keys',
    min: 2,
    max: 10_001,
  },
  examples: [
    [
      'tidegate slot 3 0x62a70441e573908b945cb88d617f326c1126007a',
      "balanceOf[0x62a7…007a] of the demo network's token, whose balances are at slot 3",
    ],
    [
      'tidegate slot 5 0x62a70441e573908b945cb88d617f326c1126007a 42',
      'an entry of a mapping that is in the entry of a mapping',
    ],
    ['tidegate slot --types string 7 ebb', 'an entry of a mapping by text'],
    ['tidegate slot --each 5 1 2 42', 'three entries of the mapping at slot 5'],
    ['tidegate slot --types int8 0 -- -1', 'a negative key'],
  ],
  run: async (flags, words, io) => (await import('./slot.js')).computeSlots(flags, words, io),
})

/** All but `help` and `version`, in the order in which help shows them. */
export const commandList: readonly Command[] = [
  serve,
  dev,
  importChain,
  exportChain,
  ...keyCommands,
  ...bookCommands,
  verify,
  backUp,
  snapshot,
  restore,
  showConfig,
  slot,
]
