import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  ForkSchedule,
  forkNames,
  includesFork,
  parseGenesisConfig,
  withForkTimes,
} from '../../../../src/data/chain/forks.js'
import { identityWithForks, knownIdentity } from '../../../../src/data/chain/knownNetworks.js'
import { systemContracts } from '../../../../src/data/chain/protocolContracts.js'
import type { ChainIdentity } from '../../../../src/data/store/chainRows.js'
import { bytesToHex, noBytes } from '../../../../src/primitives/bytes.js'
import { recordings, withoutRecordings } from '../../../service/fixtures.js'

const scheduleOf = (config: Record<string, unknown>) =>
  new ForkSchedule(parseGenesisConfig({ chainId: 1, ...config }))

const merged = { terminalTotalDifficulty: 0, londonBlock: 0 }

t.test('each member activates its fork', async (t) => {
  const byNumber = {
    homesteadBlock: 'homestead',
    eip150Block: 'tangerineWhistle',
    eip158Block: 'spuriousDragon',
    byzantiumBlock: 'byzantium',
    constantinopleBlock: 'constantinople',
    petersburgBlock: 'petersburg',
    istanbulBlock: 'istanbul',
    muirGlacierBlock: 'muirGlacier',
    berlinBlock: 'berlin',
    londonBlock: 'london',
    arrowGlacierBlock: 'arrowGlacier',
    grayGlacierBlock: 'grayGlacier',
  }
  for (const [member, fork] of Object.entries(byNumber)) {
    const schedule = scheduleOf({ [member]: 5 })
    t.equal(schedule.forkAt(4, 10 ** 9, false), 'chainstart')
    t.equal(schedule.forkAt(5, 0, false), fork)
    t.equal(schedule.forkAt(500, 0, false), fork)
  }
  const blob = { target: 1, max: 2, baseFeeUpdateFraction: 3 }
  const bpo = ['bpo1', 'bpo2', 'bpo3', 'bpo4', 'bpo5']
  for (const name of ['shanghai', 'cancun', 'prague', 'osaka', ...bpo, 'amsterdam']) {
    const schedule = scheduleOf({
      [`${name}Time`]: 50,
      terminalTotalDifficulty: 100,
      blobSchedule: name === 'shanghai' ? {} : { [name]: blob },
    })
    t.equal(schedule.forkAt(9, 49, true), 'paris')
    t.equal(schedule.forkAt(0, 50, true), name)
    t.equal(schedule.forkAt(9, 50, false), 'chainstart', 'forks by time wait for the Merge')
  }
  t.equal(scheduleOf({ daoForkBlock: 5, daoForkSupport: true }).forkAt(5, 0, false), 'dao')
  t.equal(scheduleOf({ daoForkBlock: 5, daoForkSupport: false }).forkAt(5, 0, false), 'chainstart')
  t.equal(scheduleOf({ daoForkBlock: 5 }).forkAt(5, 0, false), 'chainstart')
})

t.test('the Merge comes with the total difficulty of the parent', async (t) => {
  const schedule = scheduleOf({ terminalTotalDifficulty: '0x64' })
  t.equal(schedule.isMerged(99n), false)
  t.equal(schedule.isMerged(100n), true)
  t.equal(scheduleOf({}).isMerged(10n ** 30n), false)
  t.equal(scheduleOf({ terminalTotalDifficulty: 0, londonBlock: 0 }).isMerged(0n), true)
})

t.test('blob parameters are those of the newest entry up to the fork', async (t) => {
  const entry = (target: number) => ({ target, max: target * 2, baseFeeUpdateFraction: 7 })
  const times = { ...merged, cancunTime: 1, pragueTime: 2, osakaTime: 3, bpo1Time: 4 }
  const schedule = scheduleOf({ ...times, blobSchedule: { cancun: entry(1), bpo1: entry(9) } })
  t.equal(schedule.blobParametersAt('shanghai'), undefined)
  t.equal(schedule.blobParametersAt('cancun')?.target, 1)
  t.equal(schedule.blobParametersAt('prague')?.target, 6, "Prague's own default")
  t.equal(schedule.blobParametersAt('osaka')?.target, 6)
  t.equal(schedule.blobParametersAt('bpo1')?.max, 18)
})

t.test('Amsterdam goes on with the blob parameters of the fork before it', async (t) => {
  const entry = (target: number) => ({ target, max: target * 2, baseFeeUpdateFraction: 7 })
  const times = { ...merged, cancunTime: 0, bpo2Time: 4, amsterdamTime: 9 }
  const blobSchedule = { bpo2: entry(14), bpo3: entry(30) }
  const schedule = scheduleOf({ ...times, blobSchedule })
  t.equal(schedule.forkAt(5, 9, true), 'amsterdam')
  t.equal(schedule.blobParametersAt('amsterdam')?.target, 14, 'not those of a fork that the chain has not')
  t.equal(scheduleOf({ ...times, bpo3Time: 8, blobSchedule }).blobParametersAt('amsterdam')?.target, 30)
  const own = scheduleOf({ ...times, blobSchedule: { ...blobSchedule, amsterdam: entry(40) } })
  t.equal(own.blobParametersAt('amsterdam')?.target, 40)
  t.throws(() => scheduleOf({ ...times, bpo3Time: 10, blobSchedule }), {
    message: /amsterdam at time 9 comes before bpo3 at 10/,
  })
})

t.test('a fork time that was fixed later is added, and contradicts nothing', async (t) => {
  const config = { chainId: 1, osakaTime: 5, amsterdamTime: null }
  t.strictSame(withForkTimes(config, { amsterdamTime: 9 }), { ...config, amsterdamTime: 9 })
  t.strictSame(withForkTimes(config, { amsterdamTime: undefined }), config)
  t.strictSame(withForkTimes({ amsterdamTime: '0x9' }, { amsterdamTime: 9 }), { amsterdamTime: 9 })
  t.throws(() => withForkTimes({ amsterdamTime: 8 }, { amsterdamTime: 9 }), {
    name: 'RangeError',
    message: 'config.amsterdamTime is 8, and "forks" of the configuration says 9',
  })
})

t.test('public networks take a fork time, but none out of order', async (t) => {
  const known = (name: string) => knownIdentity(name, undefined) as ChainIdentity
  const amsterdamOf = ({ config }: ChainIdentity) =>
    parseGenesisConfig(JSON.parse(config)).times.get('amsterdam')
  t.equal(amsterdamOf(known('sepolia')), 1_791_294_816)
  for (const name of ['mainnet', 'hoodi', 'holesky']) {
    t.equal(amsterdamOf(known(name)), undefined)
    t.equal(amsterdamOf(identityWithForks(known(name), { amsterdamTime: 1_800_000_000 })), 1_800_000_000)
    t.throws(() => identityWithForks(known(name), { amsterdamTime: 5 }), { message: /comes before/ })
  }
  t.strictSame(identityWithForks(known('mainnet'), {}), known('mainnet'))
})

t.test('a genesis of Besu says the same in its own words', async (t) => {
  const besu = { constantinopleFixBlock: 5, mergeNetSplitBlock: 7, discovery: {}, checkpoint: {} }
  t.equal(scheduleOf(besu).forkAt(5, 0, false), 'petersburg')
})

t.test('the files of Besu for public networks are read', async (t) => {
  // Fork times from the configurations of Hoodi and Holesky at eth-clients.
  const besu = {
    preMergeForkBlock: 0,
    ethash: {},
    discovery: {},
    checkpoint: {},
    withdrawalRequestContractAddress: '0x00000961Ef480Eb55e80D19ad83579A64c007002',
    consolidationRequestContractAddress: '0x0000BBdDc7CE488642fb579F8B00f3a590007251',
  }
  t.equal(scheduleOf(besu).forkAt(0, 0, true), 'paris')
  for (const requests of [1, 2]) {
    const address = bytesToHex(systemContracts.find((each) => each.requests === requests)?.address ?? noBytes)
    t.ok(Object.values(besu).some((value) => String(value).toLowerCase() === address))
  }
  t.throws(() => scheduleOf({ ...besu, withdrawalRequestContractAddress: `0x${'11'.repeat(20)}` }), {
    message: /^config\.withdrawalRequestContractAddress: expected 0x00000961/,
  })
})

t.test('OP Mainnet has London with Bedrock, and was another chain before', async (t) => {
  const bedrock = 105_235_063
  const config = {
    chainId: 10,
    homesteadBlock: 0,
    eip150Block: 0,
    eip155Block: 0,
    eip158Block: 0,
    byzantiumBlock: 0,
    constantinopleBlock: 0,
    petersburgBlock: 0,
    istanbulBlock: 0,
    muirGlacierBlock: 0,
    berlinBlock: 3_950_000,
    londonBlock: bedrock,
    arrowGlacierBlock: bedrock,
    grayGlacierBlock: bedrock,
    mergeNetsplitBlock: bedrock,
    terminalTotalDifficulty: 0,
    bedrockBlock: bedrock,
    regolithTime: 0,
    canyonTime: 1_704_992_401,
    shanghaiTime: 1_704_992_401,
    ecotoneTime: 1_710_374_401,
    cancunTime: 1_710_374_401,
    fjordTime: 1_720_627_201,
    graniteTime: 1_726_070_401,
    holoceneTime: 1_736_445_601,
    isthmusTime: 1_746_806_401,
    pragueTime: 1_746_806_401,
    optimism: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
  }
  const schedule = new ForkSchedule(parseGenesisConfig(config))
  t.equal(schedule.forkAt(bedrock, 1_686_068_903, true), 'regolith')
  t.equal(schedule.forkAt(130_000_000, 1_746_806_401, true), 'isthmus')
  t.equal(schedule.londonBlock, bedrock)
  t.throws(
    () =>
      parseGenesisConfig({
        ...config,
        londonBlock: bedrock + 1,
        arrowGlacierBlock: bedrock + 1,
        grayGlacierBlock: bedrock + 1,
      }),
    {
      message: /bedrock at block 105235063 comes before grayGlacier/,
    },
  )
})

t.test('faults are named by their member', async (t) => {
  const cases: [Record<string, unknown>, RegExp][] = [
    [{ chainId: undefined }, /^config\.chainId: /],
    [{ chainId: 1.5 }, /^config\.chainId: /],
    [{ londonBlock: -1 }, /^config\.londonBlock: /],
    [{ londonBlock: 'x' }, /^config\.londonBlock: /],
    [{ londonBlock: '0x20000000000000' }, /^config\.londonBlock: .* too large/],
    [{ shanghaiTime: 5 }, /^config\.terminalTotalDifficulty is missing/],
    [{ terminalTotalDifficulty: 0 }, /^config\.londonBlock is missing.*London comes before the Merge/],
    [{ terminalTotalDifficulty: 0, londonBlock: 7 }, /^config\.londonBlock is 7/],
    [{ berlinBlock: 5, londonBlock: 4 }, /london at block 4 comes before berlin at 5/],
    [
      { terminalTotalDifficulty: 0, shanghaiTime: 5, cancunTime: 4 },
      /cancun at time 4 comes before shanghai at 5/,
    ],
    [{ eip155Block: 5, eip158Block: 6 }, /eip155Block and config\.eip158Block/],
    [{ eip155Block: 5 }, /eip155Block and config\.eip158Block/],
    [
      { terminalTotalDifficulty: 0, berlinBlock: 0, londonBlock: 0, bpo1Time: 4 },
      /^config\.blobSchedule\.bpo1 is missing/,
    ],
    [{ blobSchedule: { rome: {} } }, /^config\.blobSchedule\.rome: no such fork/],
    [{ blobSchedule: { cancun: 5 } }, /^config\.blobSchedule\.cancun: expected an object/],
    [
      { blobSchedule: { cancun: { target: 1, max: 2, baseFeeUpdateFraction: 0 } } },
      /baseFeeUpdateFraction: must not/,
    ],
    [
      { blobSchedule: { cancun: { target: 1, max: 0, baseFeeUpdateFraction: 1 } } },
      /^config\.blobSchedule\.cancun\.max: /,
    ],
    [
      { blobSchedule: { cancun: { target: 3, max: 2, baseFeeUpdateFraction: 1 } } },
      /^config\.blobSchedule\.cancun\.max: /,
    ],
    [
      { blobSchedule: { cancun: { max: 2, baseFeeUpdateFraction: 1 } } },
      /^config\.blobSchedule\.cancun\.target: /,
    ],
    [{ blobSchedule: 5 }, /^config\.blobSchedule: /],
    [{ enableVerkleAtGenesis: true }, /^config\.enableVerkleAtGenesis is not supported/],
    [{ depositContractAddress: '0x12' }, /^config\.depositContractAddress: /],
    [{ depositContractAddress: 12 }, /^config\.depositContractAddress: /],
    [
      { bogotaTime: 5 },
      /^config\.bogotaTime names a fork that this version does not know \(bogota\); update Tidegate/,
    ],
    [{ bogotaBlock: 5 }, /^config\.bogotaBlock names a fork .* Do not remove it/],
    [{ clique: {} }, /^config\.clique is not supported/],
  ]
  for (const [config, message] of cases) {
    t.throws(() => scheduleOf(config), { name: 'RangeError', message }, JSON.stringify(config))
  }
  t.throws(() => parseGenesisConfig(undefined), { message: /"config" is missing/ })
  t.doesNotThrow(() => scheduleOf({ londonBlock: null, shanghaiTime: null, blobSchedule: null }))
})

const title = 'the genesis of the recorded chain activates every fork in turn'
t.test(title, { skip: withoutRecordings }, async (t) => {
  const path = join(recordings, 'genesis.json')
  const schedule = new ForkSchedule(parseGenesisConfig(JSON.parse(readFileSync(path, 'utf8')).config))
  const seen = new Set<string>()
  for (let number = 0; number < 80; number++) seen.add(schedule.forkAt(number, number * 10, number >= 36))
  const expected = forkNames.filter(
    (name) => !['chainstart', 'dao', 'bpo3', 'bpo4', 'bpo5', 'amsterdam'].includes(name),
  )
  t.strictSame([...seen], expected)
  t.equal(schedule.blobParametersAt('bpo2')?.max, 21)
  t.ok(includesFork('bpo2', 'london'))
  t.notOk(includesFork('berlin', 'london'))
})
