/**
 * Chains of the Superchain's registry (ethereum-optimism): facts of its files in `superchain/configs`, as `config`s in the
 * form that op-geth makes of them. One of each kind: with a history before Bedrock, with forks before the genesis or at it,
 * two forks at once, two forks within a second, other parameters of the base fee.
 */
import t from 'tap'
import { ForkSchedule, parseGenesisConfig } from '../../../../src/data/chain/forks.js'
import { familyIdentity, networkOf } from '../../../../src/data/chain/knownNetworks.js'

const forks = ['canyon', 'ecotone', 'fjord', 'granite', 'holocene', 'isthmus', 'jovian'] as const
/** What a fork brings of Ethereum's. */
const brings: Readonly<Record<string, string>> = { canyon: 'shanghai', ecotone: 'cancun', isthmus: 'prague' }

interface Row {
  readonly name: string
  readonly chainId: number
  /** Of the first block. */
  readonly time: number
  /** Times of the forks, in their order. */
  readonly times: readonly number[]
  readonly elasticity?: number
  readonly denominators?: readonly [first: number, fromCanyon: number]
}

const mainnet = [
  ...[1_704_992_401, 1_710_374_401, 1_720_627_201, 1_726_070_401, 1_736_445_601],
  ...[1_746_806_401, 1_764_691_201],
]
const celoTime = 1_752_073_200

const rows: readonly Row[] = [
  { name: 'OP Mainnet', chainId: 10, time: 1_686_068_903, times: mainnet },
  { name: 'Base', chainId: 8453, time: 1_686_789_347, times: mainnet },
  { name: 'Mode', chainId: 34443, time: 1_700_167_583, times: mainnet.slice(0, 6) },
  { name: 'Zora', chainId: 7777777, time: 1_686_693_839, times: mainnet.slice(0, 3) },
  {
    name: 'OP Sepolia',
    chainId: 11155420,
    time: 1_691_802_540,
    times: [1_699_981_200, 1_708_534_800, 1_716_998_400],
  },
  // Its first block is after Ecotone.
  {
    name: 'Lisk',
    chainId: 1135,
    time: 1_714_728_791,
    times: mainnet,
    elasticity: 20,
    denominators: [1_000, 1_000],
  },
  // Two forks within a second, the first at the genesis.
  {
    name: 'Boba',
    chainId: 288,
    time: 1_713_302_879,
    times: [1_713_302_879, 1_713_302_880, 1_725_951_600, 1_729_753_200, 1_738_785_600],
  },
  {
    name: 'World Chain',
    chainId: 480,
    time: 1_719_335_639,
    elasticity: 10,
    times: [0, 0, 1_721_826_000, 1_727_780_400, 1_738_238_400],
  },
  { name: 'Unichain', chainId: 130, time: 1_730_748_359, times: [0, 0, 0, 0, 1_736_445_601] },
  {
    name: 'Ink',
    chainId: 57073,
    time: 1_733_498_411,
    denominators: [250, 250],
    times: [0, 0, 0, 0, 1_742_396_400],
  },
  { name: 'Soneium', chainId: 1868, time: 1_733_134_751, times: [0, 0, 0, 0] },
  { name: 'Swellchain', chainId: 1923, time: 1_732_696_703, times: [0, 0, 0, 0] },
  // Canyon alone.
  { name: 'Fraxtal', chainId: 252, time: 1_706_810_711, times: [0], elasticity: 10 },
  // Two forks at once.
  {
    name: 'Celo',
    chainId: 42220,
    time: 1_742_957_258,
    times: [0, 0, 0, 0, celoTime, celoTime],
    elasticity: 5,
    denominators: [400, 400],
  },
]

const bedrockOf = ({ chainId }: Row) => (chainId === 10 ? 105_235_063 : 0)

function configOf(row: Row): Record<string, unknown> {
  const bedrock = bedrockOf(row)
  const always = ['homestead', 'eip150', 'eip155', 'eip158', 'byzantium', 'constantinople', 'petersburg']
  const late = ['london', 'arrowGlacier', 'grayGlacier', 'bedrock']
  const [denominator, fromCanyon] = row.denominators ?? [50, 250]
  return {
    chainId: row.chainId,
    ...Object.fromEntries([...always, 'istanbul', 'muirGlacier'].map((name) => [`${name}Block`, 0])),
    berlinBlock: bedrock === 0 ? 0 : 3_950_000,
    ...Object.fromEntries(late.map((name) => [`${name}Block`, bedrock])),
    mergeNetsplitBlock: bedrock,
    terminalTotalDifficulty: 0,
    regolithTime: 0,
    ...Object.fromEntries(
      row.times.flatMap((time, at) => {
        const fork = forks[at] as string
        return [fork, brings[fork] ?? []].flat().map((name) => [`${name}Time`, time])
      }),
    ),
    optimism: {
      eip1559Elasticity: row.elasticity ?? 6,
      eip1559Denominator: denominator,
      eip1559DenominatorCanyon: fromCanyon,
    },
  }
}

/** The last fork whose time has come; Regolith before all of them. */
const forkAt = ({ times }: Row, time: number) =>
  forks[times.filter((begins) => begins <= time).length - 1] ?? 'regolith'

t.test("the chains of the Superchain's registry have their forks", async (t) => {
  for (const row of rows) {
    const schedule = new ForkSchedule(parseGenesisConfig(configOf(row)))
    const first = bedrockOf(row)
    t.equal(schedule.forkAt(first, row.time, true), forkAt(row, row.time), `${row.name} begins`)
    for (const time of row.times.filter((begins) => begins > row.time)) {
      for (const at of [time - 1, time]) {
        t.equal(schedule.forkAt(first + 1, at, true), forkAt(row, at), `${row.name} at ${at}`)
      }
    }
    t.equal(schedule.londonBlock, first, row.name)
  }
  t.equal(new Set(rows.map(({ chainId }) => chainId)).size, rows.length)
})

t.test('a rule of a chain of its own is refused by its name', async (t) => {
  const celo = rows.find(({ name }) => name === 'Celo') as Row
  t.throws(() => parseGenesisConfig({ ...configOf(celo), cel2Time: 0 }), { message: /cel2Time/ })
})

/** A gateway's schedule, without a `config` from its nodes. */
const scheduleOf = (chainId: number) =>
  ForkSchedule.of(familyIdentity(String(chainId), `0x${'11'.repeat(32)}`, networkOf(chainId)?.family ?? ''))

/** Since the newest known fork. */
const today = 1_796_000_000

t.test('the forks of public chains are known by their chain ids', async (t) => {
  const newest = [
    ['jovian', [480]],
    ['karst', [10, 130, 1135, 1868, 34443, 57073, 7777777, 11155420]],
  ] as const
  for (const [fork, ids] of newest) {
    for (const id of ids) {
      const schedule = scheduleOf(id)
      t.equal(schedule.forkAt(200_000_000, today, true), fork, String(id))
      t.equal(schedule.family.execution, undefined, 'its blocks are only proved')
      t.strictSame([...schedule.family.calls.unknown.opcodes], [], 'its calls have no unknown rules')
      const row = rows.find(({ chainId }) => chainId === id)
      for (const time of row?.times ?? []) {
        if (time <= (row as Row).time) continue
        for (const at of [time - 1, time]) {
          const wanted = forkAt(row as Row, at)
          t.equal(schedule.forkAt(200_000_000, at, true), wanted, `${(row as Row).name} at ${at}`)
        }
      }
      const { parameters } = schedule.config
      const given = parseGenesisConfig(configOf(row as Row)).parameters
      t.strictSame(parameters, given, 'its parameters of the base fee')
    }
  }
  t.equal(scheduleOf(10).family.calls.rules?.from, 1_686_068_903, 'no call runs before Bedrock')
})

t.test('a chain whose forks are not known has the calls of its family', async (t) => {
  for (const id of [252, 288]) {
    const { family, config } = scheduleOf(id)
    t.match(family.calls.rules, { fork: 'prague' })
    t.ok(family.calls.unknown.opcodes.size > 0)
    t.equal(config.times.get('karst'), undefined)
  }
})
