import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { parseGenesisConfig } from '../../../../src/data/chain/forks.js'
import { knownIdentity } from '../../../../src/data/chain/knownNetworks.js'
import type { ChainIdentity } from '../../../../src/data/store/chainRows.js'
import { bytesToHex } from '../../../../src/primitives/bytes.js'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'
import { genesisWithForks, parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'
import {
  ChainMaker,
  frontierConfig,
  londonConfig,
  mergedConfig,
  mergingConfig,
  testGenesis,
} from '../../../ingest/chainMaker.js'
import { recordings, withoutRecordings } from '../../../service/fixtures.js'

type Json = Record<string, unknown>

const address = `0x${'ab'.repeat(20)}`
const base: Json = { config: { chainId: 1 }, alloc: {}, difficulty: '0x1', gasLimit: '0x1388' }

function faultOf(json: unknown): string {
  try {
    parseGenesis(typeof json === 'string' ? json : JSON.stringify(json))
  } catch (error) {
    return error instanceof RangeError ? error.message : `not a RangeError: ${error}`
  }
  return 'no fault'
}

t.test('the genesis hash is that of independent code under every set of forks', async (t) => {
  for (const [name, genesis] of Object.entries({
    Frontier: testGenesis(frontierConfig()),
    London: testGenesis(londonConfig(), { extraData: '0x1234', timestamp: '0x55' }),
    merging: testGenesis(mergingConfig(3)),
    merged: testGenesis(mergedConfig(), { difficulty: '0x0' }),
  })) {
    const maker = await ChainMaker.create(genesis)
    t.equal(parseGenesis(maker.genesisText).identity.genesisHash, bytesToHex(maker.genesis.hash), name)
  }
})

t.test(
  'the first block of the recorded chain has its genesis as parent',
  { skip: withoutRecordings },
  async (t) => {
    const { identity } = parseGenesis(readFileSync(join(recordings, 'genesis.json'), 'utf8'))
    // The parent hash of its first block: 32 bytes after the headers of the block, the header and the hash.
    const chain = readFileSync(join(recordings, 'chain.rlp'))
    t.ok(chain.subarray(0, 64).toString('hex').includes(identity.genesisHash.slice(2)))
  },
)

t.test('a network id that differs from the chain id is kept', async (t) => {
  const idsOf = (config: Json) => {
    const { chainId, networkId } = parseGenesis(JSON.stringify({ ...base, config })).identity
    return [chainId, networkId]
  }
  t.strictSame(idsOf({ chainId: 5 }), ['5', '5'])
  t.strictSame(idsOf({ chainId: 5, networkId: 6 }), ['5', '6'])
  t.match(faultOf({ ...base, config: { chainId: 5, networkId: 'x' } }), /^config\.networkId: /)
})

t.test('every fault is named by its path', async (t) => {
  const account = (entry: unknown) => ({ ...base, alloc: { [address]: entry } })
  const cases: [unknown, RegExp][] = [
    ['{', /^not JSON: /],
    ['[]', /^expected a JSON object/],
    [{ alloc: {} }, /"config" is missing/],
    [{ config: { chainId: 1 } }, /"alloc" is missing/],
    [{ ...base, config: {} }, /^config\.chainId: /],
    [{ ...base, timestamp: 'soon' }, /^timestamp: /],
    [{ ...base, number: 3 }, /^number: /],
    [{ ...base, gasLimit: -1 }, /^gasLimit: /],
    [{ ...base, gasUsed: '0x' }, /^gasUsed: /],
    [{ ...base, difficulty: 'hard' }, /^difficulty: /],
    [{ ...base, difficulty: undefined }, /^difficulty: missing/],
    [{ ...base, difficulty: null }, /^difficulty: missing/],
    [{ ...base, gasLimit: undefined }, /^gasLimit: missing/],
    [{ ...base, gasLimit: '0x10000000000000000' }, /^gasLimit: /],
    [{ ...base, GasLimit: '0x1388' }, /^GasLimit: given twice/],
    [{ ...base, mixhash: '0x', mixHash: '0x' }, /^mixHash: given twice/],
    [account({ balance: '1', Balance: '1' }), /^alloc\.0xabab\w*\.Balance: given twice/],
    [{ ...base, nonce: '0x112233445566778899' }, /^nonce: /],
    [{ ...base, mixHash: `0x${'00'.repeat(33)}` }, /^mixHash: /],
    [{ ...base, coinbase: 7 }, /^coinbase: /],
    [{ ...base, parentHash: '0xzz' }, /^parentHash: /],
    [{ ...base, extraData: '0x123' }, /^extraData: /],
    [{ ...base, config: { chainId: 1, londonBlock: 0 }, baseFeePerGas: 'x' }, /^baseFeePerGas: /],
    [account(null), /^alloc\.0xabab.*: expected an object/],
    [account({ balance: 'x' }), /^alloc\.0xabab\w*\.balance: /],
    [account({ balance: `0x1${'00'.repeat(32)}` }), /^alloc\.0xabab\w*\.balance: /],
    [account({ balance: '1', nonce: -1 }), /^alloc\.0xabab\w*\.nonce: /],
    [account({ balance: '1', nonce: '0x10000000000000000' }), /^alloc\.0xabab\w*\.nonce: /],
    [account({ balance: '1', code: '0x6' }), /^alloc\.0xabab\w*\.code: /],
    [account({ balance: '1', storage: [] }), /^alloc\.0xabab\w*\.storage: /],
    [account({ balance: '1', storage: { '0x01': 5 } }), /^alloc\.0xabab\w*\.storage\.0x01: /],
    [account({ balance: '1', storage: { [`0x${'00'.repeat(33)}`]: '0x1' } }), /^alloc\.0xabab\w*\.storage/],
    [
      account({ balance: '1', storage: { '0x1': '0x1', '0x01': '0x2' } }),
      /^alloc\.0xabab\w*\.storage\.0x01: .*twice/,
    ],
    [{ ...base, alloc: { [address]: {}, [address.slice(2)]: {} } }, /^alloc\.abab\w*: address given twice/],
    [{ ...base, alloc: { '0x1234567890123456789012345678901234567890ff': {} } }, /^alloc\.0x1234/],
  ]
  for (const [json, message] of cases) t.match(faultOf(json), message, JSON.stringify(json))
})

t.test('the ways to write a number mean the same', async (t) => {
  const hash = (json: Json) => parseGenesis(JSON.stringify(json)).identity.genesisHash
  const want = hash({ ...base, gasLimit: 5000, alloc: { [address]: { balance: 1000 } } })
  t.equal(hash({ ...base, gasLimit: '5000', alloc: { [address.slice(2)]: { balance: '0x3e8' } } }), want)
  t.equal(hash({ ...base, gasLimit: '0x1388', alloc: { [address]: { balance: '1000', nonce: null } } }), want)
  const upper = { [`0x${'AB'.repeat(20)}`]: { balance: 1000, code: null, storage: null } }
  t.equal(hash({ ...base, gasLimit: 5000, alloc: upper }), want)
  const bigX = { [`0X${'AB'.repeat(20)}`]: { balance: '0X3E8', nonce: '0X0', code: '0X' } }
  t.equal(hash({ ...base, gasLimit: '0X1388', difficulty: '0X1', extraData: '0X', alloc: bigX }), want)
})

t.test('names are read in any case, and a byte order mark is passed over', async (t) => {
  const hash = (text: string) => parseGenesis(text).identity.genesisHash
  const slot = `0x${'01'.repeat(32)}`
  const whole = {
    ...base,
    config: { chainId: 1, londonBlock: 0 },
    number: 0,
    parentHash: slot,
    coinbase: address,
    gasUsed: 7,
    timestamp: 8,
    extraData: '0x09',
    mixHash: slot,
    nonce: '0xa',
    baseFeePerGas: 11,
    alloc: { [address]: { nonce: 1, balance: 2, code: '0x03', storage: { [slot]: slot } } },
  }
  const want = hash(JSON.stringify(whole))
  t.equal(hash(`\uFEFF${JSON.stringify(whole)}`), want)
  const recased = (json: Json, change: (name: string) => string) =>
    Object.fromEntries(Object.entries(json).map(([name, value]) => [change(name), value]))
  const changes = [
    (name: string) => name.toUpperCase(),
    (name: string) => name.toLowerCase(),
    (name: string) => (name[0]?.toUpperCase() ?? '') + name.slice(1),
  ]
  for (const change of changes) {
    const alloc = { [address]: recased(whole.alloc[address] as Json, change) }
    t.equal(hash(JSON.stringify(recased({ ...whole, alloc }, change))), want, change('gasLimit'))
  }
  for (const member of ['LondonBlock', 'londonblock', 'chainID']) {
    const json = { ...base, config: { chainId: 1, [member]: 0 } }
    t.match(faultOf(json), new RegExp(`^config\\.${member} `), 'of rules, another case is refused')
  }
})

t.test('members of the rules are compared by their values', async (t) => {
  const rulesOf = (config: Json) => {
    const { schedule } = parseGenesis(JSON.stringify({ ...base, config: { chainId: 1, ...config } }))
    return [...schedule.config.blocks]
  }
  const none = ['eip155Block', 'eip158Block', 'petersburgBlock', 'constantinopleFixBlock', 'eip150Block']
  t.strictSame(rulesOf(Object.fromEntries(none.map((name) => [name, null]))), [])
  const zeros = [0, '0', '0x0', '0X0', '0x00']
  for (const a of zeros) {
    for (const b of zeros) {
      t.strictSame(rulesOf({ eip158Block: a, eip155Block: b }), [['spuriousDragon', 0]], `${a} and ${b}`)
      t.strictSame(rulesOf({ petersburgBlock: a, constantinopleFixBlock: b }), [['petersburg', 0]])
    }
    t.strictSame(rulesOf({ eip158Block: a, eip155Block: null }), [['spuriousDragon', 0]])
  }
  const both = /eip155Block and config\.eip158Block have to be equal/
  const refused: [Json, RegExp][] = [
    [{ eip155Block: 0 }, both],
    [{ eip155Block: 0, eip158Block: null }, both],
    [{ eip155Block: '0x1', eip158Block: 0 }, both],
    [{ eip155Block: 'x', eip158Block: 0 }, /^config\.eip155Block: expected/],
    [
      { petersburgBlock: 1, constantinopleFixBlock: '0x2' },
      /^config\.constantinopleFixBlock: petersburg begins/,
    ],
  ]
  for (const [config, message] of refused) {
    t.match(faultOf({ ...base, config: { chainId: 1, ...config } }), message, JSON.stringify(config))
  }
})

t.test('bare numbers beyond 2^53, as geth writes them, keep every digit', async (t) => {
  const text = `{"config":{"chainId":1,"terminalTotalDifficulty": 58750000000000000000001},
    "difficulty":"1", "gasLimit":5000, "extraData":"0x", "note": "12345678901234567890 \\" 12345678901234567890",
    "alloc":{"${address}":{"balance":123456789012345678901234567890}}}`
  const { schedule, blockDiff } = parseGenesis(text)
  t.equal(schedule.config.terminalTotalDifficulty, 58750000000000000000001n)
  t.match(
    bytesToHex(blockDiff.accounts[0]?.[1] ?? new Uint8Array(0)),
    123456789012345678901234567890n.toString(16),
  )
})

t.test(
  'fork times of the configuration are added to a genesis, whose large integers stay exact',
  async (t) => {
    const text =
      '{"config":{"chainId":5,"terminalTotalDifficulty":58750000000000000000000},"alloc":{"01":{"balance":"1"}},"difficulty":1,"gasLimit":5000}'
    const added = genesisWithForks(text, { amsterdamTime: 7 })
    const { config } = parseGenesis(added).schedule
    t.equal(config.times.get('amsterdam'), 7)
    t.equal(config.terminalTotalDifficulty, 58750000000000000000000n)
    t.equal(genesisWithForks(text, { amsterdamTime: undefined }), text)
    t.equal(genesisWithForks('no JSON', { amsterdamTime: 7 }), 'no JSON')
    t.throws(() => genesisWithForks(added, { amsterdamTime: 8 }), { message: /is 7, and "forks"/ })
  },
)

/** The forks of Besu's files; its names for the Merge are among them. */
const besuConfig = (config: Json): Json => ({
  ...Object.fromEntries(
    ['homestead', 'eip150', 'eip155', 'eip158', 'byzantium', 'constantinople', 'petersburg', 'istanbul']
      .concat(['berlin', 'london'])
      .map((name) => [`${name}Block`, 0]),
  ),
  ethash: {},
  withdrawalRequestContractAddress: '0x00000961ef480eb55e80d19ad83579a64c007002',
  consolidationRequestContractAddress: '0x0000bbddc7ce488642fb579f8b00f3a590007251',
  blobSchedule: {
    cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3338477 },
    prague: { target: 6, max: 9, baseFeeUpdateFraction: 5007716 },
    bpo1: { target: 10, max: 15, baseFeeUpdateFraction: 8346193 },
    bpo2: { target: 14, max: 21, baseFeeUpdateFraction: 11684671 },
  },
  discovery: { dns: 'enrtree://A@all.example', bootnodes: ['enode://1@192.0.2.1:0?discport=1'] },
  ...config,
})

t.test("Besu's file of Sepolia has Sepolia's genesis", async (t) => {
  // Facts of eth-clients/sepolia, metadata/besu.json; its odd nonce too.
  const ether = (balance: string, addresses: string[]) =>
    addresses.map((address) => [`0x${address}`, { balance }])
  const sepolia = {
    config: besuConfig({
      chainId: 11155111,
      mergeNetSplitBlock: 1735371,
      terminalTotalDifficulty: 17000000000000000,
      shanghaiTime: 1677557088,
      cancunTime: 1706655072,
      pragueTime: 1741159776,
      osakaTime: 1760427360,
      bpo1Time: 1761017184,
      bpo2Time: 1761607008,
      depositContractAddress: '0x7f02c3e3c98b133055b8b348b2ac625669ed295d',
      checkpoint: { hash: `0x${'49'.repeat(32)}`, number: 1273020, totalDifficulty: '0x13DE1653E7D280' },
    }),
    alloc: Object.fromEntries([
      ...ether('0xD3C21BCECCEDA1000000', [
        ...['a2A6d93439144FFE4D27c9E088dCD8b783946263', 'Bc11295936Aa79d594139de1B2e12629414F3BDB'],
        ...['7cF5b79bfe291A67AB02b393E456cCc4c266F753', 'aaec86394441f915bce3e6ab399977e9906f3b69'],
        ...['F47CaE1CF79ca6758Bfc787dbD21E6bdBe7112B8', 'd7eDDB78ED295B3C9629240E8924fb8D8874ddD8'],
        ...['8b7F0977Bb4f0fBE7076FA22bC24acA043583F5e', 'e2e2659028143784d557bcec6ff3a0721048880a'],
        ...['d9a5179f091d85051d3c982785efd1455cec8699', 'beef32ca5b9a198d27B4e02F4c70439fE60356Cf'],
      ]),
      ...ether('0x84595161401484A000000', ['0000006916a87b82333f4245046623b23794c65c']),
      ...ether('0x52B7D2DCC80CD2E4000000', [
        ...['b21c33de1fab3fa15499c62b59fe0cc3250020d1', '10F5d45854e038071485AC9e402308cF80D2d2fE'],
        'd7d76c58b3a519e9fA6Cc4D22dC017259BC49F1E',
      ]),
      ...ether('0xDE0B6B3A7640000', ['799D329e5f583419167cD722962485926E338F4a']),
    ]),
    difficulty: '0x20000',
    extraData: '0x5365706f6c69612c20417468656e732c204174746963612c2047726565636521',
    gasLimit: '0x1c9c380',
    nonce: '0x000000000000000',
    mixhash: `0x${'0'.repeat(64)}`,
    timestamp: '0x6159af19',
  }
  const { identity } = parseGenesis(JSON.stringify(sepolia))
  t.equal(identity.genesisHash, '0x25a5cc106eea7138acab33231d7160d69cb777ee0c2c553fcddf5138993e6dd9')
  t.equal(knownIdentity('sepolia', undefined)?.genesisHash, identity.genesisHash)
  t.equal(identity.chainId, '11155111')
})

for (const name of ['hoodi', 'holesky'] as const) {
  t.test(`Besu's file of ${name} has the genesis and the forks of that network`, async (t) => {
    // metadata/besu.json of eth-clients/hoodi and eth-clients/holesky, with one of its nodes; the allocation of Hoodi
    // is that of go-ethereum, in decimals as there.
    const path = join(packageRoot(), `test/ingest/publicGenesis/${name}.json.gz`)
    const { identity, schedule } = parseGenesis(gunzipSync(readFileSync(path)).toString('utf8'))
    const known = knownIdentity(name, undefined) as ChainIdentity
    t.equal(identity.genesisHash, known.genesisHash)
    t.equal(identity.chainId, known.chainId)
    const { times } = parseGenesisConfig(JSON.parse(known.config))
    t.ok(schedule.config.times.size > 0)
    for (const [fork, time] of schedule.config.times) t.equal(times.get(fork), time, fork)
  })
}
