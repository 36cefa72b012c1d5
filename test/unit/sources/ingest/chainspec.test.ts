import t from 'tap'
import { genesisWithForks, parseGenesis } from '../../../../src/sources/ingest/blocks/genesis.js'

type Json = Record<string, unknown>

const zeros = ['eip150', 'eip155', 'eip160', 'eip161abc', 'eip161d', 'eip140', 'eip211', 'eip214', 'eip658']
  .concat(['eip145', 'eip1014', 'eip1052', 'eip1283', 'eip1283Disable', 'eip152', 'eip1108', 'eip1344'])
  .concat(['eip1884', 'eip2028', 'eip2200', 'eip2565', 'eip2929', 'eip2930', 'eip1559', 'eip3198', 'eip3529'])
  .concat(['eip3541', 'maxCodeSize'])

function at(time: number, ...eips: number[]): Json {
  return Object.fromEntries(eips.map((eip) => [`eip${eip}TransitionTimestamp`, `0x${time.toString(16)}`]))
}

const address = `0x${'ab'.repeat(20)}`
const params: Json = {
  chainID: '0x88bb1',
  networkID: '0x88bb1',
  minGasLimit: '0x1388',
  mergeForkIdTransition: '0x0',
  terminalTotalDifficulty: '0x0',
  depositContractAddress: '0x00000000219ab540356cBB839Cbe05303d7705Fa',
  ...Object.fromEntries(zeros.map((name) => [`${name}Transition`, '0x0'])),
  ...at(0, 4895, 3855, 3651, 3860, 4844, 4788, 1153, 5656, 6780),
  ...at(100, 2537, 2935, 6110, 7002, 7251, 7702, 7623),
  ...at(200, 7594, 7823, 7825, 7883, 7918, 7934, 7939, 7951),
  ...at(400, 7708, 7778, 7843, 7928, 7954, 8024, 8037),
  eip7934MaxRlpBlockSize: '0x800000',
  blobSchedule: [
    { name: 'prague', timestamp: '0x64', target: 6, max: 9, baseFeeUpdateFraction: '0x4c6964' },
    { name: 'bpo1', timestamp: '0x12c', target: '0xa', max: '0xf', baseFeeUpdateFraction: '0x7f5a51' },
  ],
}
const chainspec: Json = {
  name: 'Testnet',
  engine: { Ethash: {} },
  params,
  genesis: {
    seal: { ethereum: { nonce: '0x1234', mixHash: `0x${'00'.repeat(31)}07` } },
    difficulty: '0x01',
    author: '0x00000000000000000000000000000000000000ee',
    timestamp: '0x10',
    parentHash: `0x${'00'.repeat(32)}`,
    extraData: '',
    gasLimit: '0x2255100',
  },
  accounts: {
    [address]: { balance: '1000000000000000000000', nonce: '1', code: '0x00', storage: { '0x01': '0x02' } },
    '0x0000000000000000000000000000000000000001': { builtin: { name: 'ecrecover' } },
  },
}

const genesis: Json = {
  config: {
    chainId: 0x88bb1,
    networkId: 0x88bb1,
    ...Object.fromEntries(
      ['homestead', 'eip150', 'eip155', 'eip158', 'byzantium', 'constantinople', 'petersburg']
        .concat(['istanbul', 'berlin', 'london'])
        .map((name) => [`${name}Block`, 0]),
    ),
    terminalTotalDifficulty: 0,
    depositContractAddress: '0x00000000219ab540356cBB839Cbe05303d7705Fa',
    shanghaiTime: 0,
    cancunTime: 0,
    pragueTime: 100,
    osakaTime: 200,
    bpo1Time: 300,
    amsterdamTime: 400,
    blobSchedule: {
      prague: { target: 6, max: 9, baseFeeUpdateFraction: 5007716 },
      bpo1: { target: 10, max: 15, baseFeeUpdateFraction: 8346193 },
    },
  },
  nonce: '0x1234',
  mixHash: `0x${'00'.repeat(31)}07`,
  difficulty: '0x1',
  coinbase: '0x00000000000000000000000000000000000000ee',
  timestamp: '0x10',
  gasLimit: '0x2255100',
  alloc: {
    [address]: { balance: '1000000000000000000000', nonce: '1', code: '0x00', storage: { '0x01': '0x02' } },
  },
}

t.test('a chainspec is the same chain as the genesis file', async (t) => {
  const read = parseGenesis(JSON.stringify(chainspec))
  const same = parseGenesis(JSON.stringify(genesis))
  t.equal(read.identity.genesisHash, same.identity.genesisHash)
  t.strictSame(read.schedule.config, same.schedule.config)
  t.equal(read.identity.networkId, same.identity.networkId)
  const later = genesisWithForks(JSON.stringify(chainspec), { amsterdamTime: 400 })
  t.equal(parseGenesis(later).identity.genesisHash, same.identity.genesisHash)
})

t.test('a chainspec that is ambiguous, or has rules of another chain, is refused by name', async (t) => {
  const faultOf = (changes: Json, more: Json = {}) => {
    const text = JSON.stringify({ ...chainspec, ...more, params: { ...params, ...changes } })
    try {
      parseGenesis(text)
    } catch (error) {
      return `${(error as Error).name}: ${(error as Error).message}`
    }
    return 'no fault'
  }
  t.match(faultOf({ eip1559Transition: '0x5' }), /after the Merge \(params.eip1559Transition is 0x5\)/)
  t.match(faultOf({ eip152Transition: undefined }), /params.eip152Transition is missing/)
  t.match(faultOf({ terminalTotalDifficulty: '0x5' }), /mined at first\); take the genesis.json/)
  t.match(faultOf({ terminalTotalDifficulty: undefined }), /mined at first/)
  t.match(
    faultOf({ eip7951TransitionTimestamp: undefined }),
    /eip7951TransitionTimestamp is missing, other EIPs of osaka/,
  )
  t.match(
    faultOf(at(201, 7951)),
    /params.eip7951TransitionTimestamp differs from params.eip7594TransitionTimestamp/,
  )
  t.match(faultOf(at(401, 7976)), /eip7976TransitionTimestamp differs/)
  t.match(faultOf(at(0, 9999)), /params.eip9999TransitionTimestamp is not supported/)
  t.match(faultOf({}, { engine: { clique: {} } }), /engine: expected Ethash, got clique$/)
  for (const [chainID, name] of [
    ['0x64', 'gnosis'],
    ['0x27d8', 'chiado'],
  ]) {
    t.match(
      faultOf({ chainID, networkID: chainID }, { engine: { authorityRound: {} } }),
      new RegExp(
        `got authorityRound; blocks of ${name} are not executed here, but a gateway serves it: "kind": "gateway"`,
      ),
    )
  }
  t.match(faultOf({}, { accounts: { [address]: { constructor: '0x00' } } }), /constructor is not supported/)
  t.match(faultOf({}, { accounts: undefined }), /"accounts" is missing/)
  t.equal(faultOf(at(400, 7976)), 'no fault')
})
