/**
 * The chains of the Superchain's registry (ethereum-optimism/superchain-registry). Facts of all its files in
 * `superchain/configs` as of Jovian, as `config`s in op-geth's form.
 */
import t from 'tap'
import { ForkSchedule, parseGenesisConfig } from '../../../../src/data/chain/forks.js'
import { familyIdentity, networkOf } from '../../../../src/data/chain/knownNetworks.js'

const forks = ['canyon', 'ecotone', 'fjord', 'granite', 'holocene', 'isthmus', 'jovian'] as const
/** The fork of Ethereum that a fork includes. */
const brings: Readonly<Record<string, string>> = { canyon: 'shanghai', ecotone: 'cancun', isthmus: 'prague' }

interface Row {
  readonly name: string
  readonly chainId: number
  /** Time of the first block. */
  readonly time: number
  /** Times of the forks, in their order. */
  readonly times: readonly number[]
  readonly elasticity: number
  /** Denominators of the base fee: at first, and from Canyon on. */
  readonly denominators: readonly [first: number, fromCanyon: number]
  readonly interopTime?: number
}

/** The registry's times for chains that follow it. */
const mainnet = [
  1_704_992_401, 1_710_374_401, 1_720_627_201, 1_726_070_401, 1_736_445_601, 1_746_806_401, 1_764_691_201,
]
const sepolia = [
  1_699_981_200, 1_708_534_800, 1_716_998_400, 1_723_478_400, 1_732_633_200, 1_744_905_600, 1_763_568_001,
]
const devnet = [1_706_634_000, 1_715_961_600, 1_723_046_400, 1_731_682_800, 1_744_300_800, 1_762_185_600]
const celoTime = 1_752_073_200

/** The first forks are before the first block, the others at these times. */
const begun = (forks: number, ...times: readonly number[]) => [...Array<number>(forks).fill(0), ...times]
const until = (fork: (typeof forks)[number], times: readonly number[]) =>
  times.slice(0, forks.indexOf(fork) + 1)
const from = (fork: (typeof forks)[number], times: readonly number[]) => times.slice(forks.indexOf(fork))

type Facts = readonly [
  name: string,
  chainId: number,
  time: number,
  times: readonly number[],
  elasticity?: number,
  denominators?: Row['denominators'],
  interopTime?: number,
]

const facts: readonly Facts[] = [
  ['OP Mainnet', 10, 1_686_068_903, mainnet],
  ['Unichain', 130, 1_730_748_359, begun(4, ...from('holocene', mainnet))],
  ['HashKey Chain', 177, 1_734_347_135, begun(4)],
  ['Ethernity', 183, 1_723_547_735, mainnet, 20, [1_000, 1_000]],
  ['Mint', 185, 1_715_608_931, begun(2, ...from('fjord', until('isthmus', mainnet)))],
  ['Fraxtal', 252, 1_706_810_711, begun(1, 1_717_009_201, 1_733_947_201, 1_738_958_401), 10],
  ['Swan Chain', 254, 1_718_640_215, begun(1)],
  ['Boba', 288, 1_713_302_879, [1_713_302_879, 1_713_302_880, 1_725_951_600, 1_729_753_200, 1_738_785_600]],
  ['Orderly', 291, 1_696_608_227, until('isthmus', mainnet)],
  ['Shape', 360, 1_721_744_471, begun(3, 1_727_370_000)],
  [
    'World Chain',
    480,
    1_719_335_639,
    begun(2, 1_721_826_000, 1_727_780_400, 1_738_238_400, 1_764_072_000),
    10,
  ],
  ['Binary', 624, 1_719_397_463, begun(2, 1_725_536_344, ...from('granite', mainnet))],
  ['Redstone', 690, 1_712_185_091, begun(2), 2, [50, 50]],
  ['Lyra', 957, 1_700_021_615, until('isthmus', mainnet)],
  ['Lisk', 1135, 1_714_728_791, mainnet, 20, [1_000, 1_000]],
  ['Metal L2', 1750, 1_711_563_515, begun(2, ...from('fjord', mainnet))],
  ['Soneium', 1868, 1_733_134_751, begun(4, 1_738_573_200, ...from('isthmus', mainnet))],
  ['Swellchain', 1923, 1_732_696_703, begun(4, 1_752_732_000, 1_764_648_001, ...from('jovian', mainnet))],
  ['SnaxChain', 2192, 1_723_562_231, begun(3, ...from('granite', until('isthmus', mainnet)))],
  ['Superseed', 5330, 1_726_179_683, begun(3, 1_726_185_601, ...from('holocene', until('isthmus', mainnet)))],
  ['Settlus', 5371, 1_740_171_575, begun(5)],
  ['RACE', 6805, 1_720_421_591, begun(2)],
  ['Cyber', 7560, 1_713_428_567, begun(2)],
  ['Arena-Z', 7897, 1_731_366_083, begun(4, ...from('holocene', mainnet)), 20, [2_000, 2_000]],
  ['Polynomial', 8008, 1_718_038_175, begun(2, ...from('fjord', until('isthmus', mainnet)))],
  ['Base', 8453, 1_686_789_347, mainnet],
  ['Funki', 33979, 1_721_211_095, begun(3), 10],
  ['Mode', 34443, 1_700_167_583, mainnet],
  ['Celo', 42220, 1_742_957_258, begun(4, celoTime, celoTime), 5, [400, 400]],
  ['Ink', 57073, 1_733_498_411, begun(4, 1_742_396_400, ...from('isthmus', mainnet)), 6, [250, 250]],
  ['BOB', 60808, 1_712_861_987, begun(2, ...from('fjord', until('isthmus', mainnet)))],
  ['Automata', 65536, 1_721_183_063, begun(3), 10],
  ['Silent Data', 380929, 1_753_442_723, begun(5)],
  ['Xterio', 2702128, 1_716_537_431, begun(2)],
  ['Zora', 7777777, 1_686_693_839, mainnet],
  ['rehearsal-0-bn-0', 420120009, 1_748_984_964, begun(6), 6, [50, 250], 1_749_150_000],
  ['rehearsal-0-bn-1', 420120010, 1_748_984_964, begun(6), 6, [50, 250], 1_749_150_000],
  ['Ethernity Testnet', 233, 1_717_499_232, sepolia],
  ['Binary Sepolia', 625, 1_718_195_040, begun(2, 1_723_204_838, 1_723_545_055)],
  ['Radius testnet', 863, 1_743_250_684, begun(5)],
  ['Mode Testnet', 919, 1_687_867_932, [1_703_203_200, ...from('ecotone', sepolia)]],
  ['Unichain Sepolia', 1301, 1_726_852_428, begun(4, 1_734_559_200, ...from('isthmus', sepolia))],
  ['Metal L2 Testnet', 1740, 1_708_129_620, [1_708_129_622, ...from('ecotone', sepolia)]],
  [
    'Soneium Minato',
    1946,
    1_723_194_336,
    begun(2, 1_730_106_000, 1_730_106_000, 1_734_685_200, ...from('isthmus', sepolia)),
  ],
  ['Lisk Sepolia', 4202, 1_705_312_992, [1_705_312_994, ...from('ecotone', sepolia)], 10],
  [
    'World Chain Sepolia',
    4801,
    1_720_547_424,
    begun(2, 1_721_739_600, 1_726_570_800, 1_737_633_600, 1_761_825_600),
    10,
  ],
  ['Settlus Sepolia', 5373, 1_736_459_256, begun(5)],
  ['RACE Testnet', 6806, 1_719_646_560, begun(2, 1_749_686_400, 1_749_686_400, 1_749_772_800)],
  ['Arena-Z Testnet', 9899, 1_747_822_512, begun(5, 1_747_839_600, ...from('jovian', sepolia))],
  ['Shape Sepolia', 11011, 1_718_936_160, begun(2, 1_721_732_400, 1_727_197_200)],
  ['Pivotal Sepolia', 16481, 1_724_315_616, begun(2)],
  [
    'Boba Sepolia',
    28882,
    1_705_600_788,
    [1_705_600_788, 1_709_078_400, 1_722_297_600, 1_726_470_000, 1_736_150_400],
  ],
  ['Creator Chain Testnet', 66665, 1_724_698_536, begun(3, ...from('granite', sepolia))],
  ['Base Sepolia', 84532, 1_695_768_288, sepolia, 10],
  ['Camp Testnet V2', 325000, 1_718_120_160, begun(3, ...from('granite', until('holocene', sepolia))), 10],
  ['Ink Sepolia', 763373, 1_729_003_296, sepolia],
  ['Funki Sepolia', 3397901, 1_715_060_436, begun(2)],
  ['Ozean Poseidon Testnet', 7849306, 1_724_805_984, begun(3), 6, [250, 250]],
  ['OP Sepolia', 11155420, 1_691_802_540, sepolia],
  ['Cyber Testnet', 111557560, 1_710_470_112, begun(2), 10],
  ['Zora Sepolia', 999999999, 1_698_080_004, sepolia],
  ['OP Labs devnet 0', 11155421, 1_706_484_048, begun(1, ...devnet)],
  ['Base devnet 0', 11763072, 1_695_433_056, [1_698_436_800, ...devnet]],
]

const rows = facts.map(
  ([name, chainId, time, times, elasticity = 6, denominators = [50, 250] as const, interopTime]): Row => ({
    name,
    chainId,
    time,
    times,
    elasticity,
    denominators,
    ...(interopTime !== undefined && { interopTime }),
  }),
)

const bedrockOf = ({ chainId }: Row) => (chainId === 10 ? 105_235_063 : 0)

function configOf(row: Row): Record<string, unknown> {
  const bedrock = bedrockOf(row)
  const always = ['homestead', 'eip150', 'eip155', 'eip158', 'byzantium', 'constantinople', 'petersburg']
  const late = ['london', 'arrowGlacier', 'grayGlacier', 'bedrock']
  const [denominator, fromCanyon] = row.denominators
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
      eip1559Elasticity: row.elasticity,
      eip1559Denominator: denominator,
      eip1559DenominatorCanyon: fromCanyon,
    },
    interopTime: row.interopTime,
  }
}

/** The last fork whose time has come; Regolith before all of them. */
const forkAt = ({ times }: Row, time: number) =>
  forks[times.filter((begins) => begins <= time).length - 1] ?? 'regolith'

t.test(
  "the chains of the Superchain's registry have their forks, or a rule is refused by its name",
  async (t) => {
    for (const row of rows) {
      if (row.interopTime !== undefined) {
        t.throws(() => parseGenesisConfig(configOf(row)), { message: /config\.interopTime/ }, row.name)
        continue
      }
      const schedule = new ForkSchedule(parseGenesisConfig(configOf(row)))
      const first = bedrockOf(row)
      t.equal(schedule.forkAt(first, row.time, true), forkAt(row, row.time), `${row.name} begins`)
      for (const time of row.times.filter((begins) => begins > row.time)) {
        for (const at of [time - 1, time]) {
          t.equal(schedule.forkAt(first + 1, at, true), forkAt(row, at), `${row.name} at ${at}`)
        }
      }
      t.equal(schedule.londonBlock, first, row.name)
      t.strictSame(
        Object.values(schedule.config.parameters).map(Number),
        [row.elasticity, ...row.denominators],
        row.name,
      )
    }
    t.equal(new Set(rows.map(({ chainId }) => chainId)).size, rows.length)
  },
)

t.test('a rule of a chain of its own is refused by its name', async (t) => {
  const celo = rows.find(({ name }) => name === 'Celo') as Row
  t.throws(() => parseGenesisConfig({ ...configOf(celo), cel2Time: 0 }), { message: /cel2Time/ })
})

/** A gateway's schedule, without a `config` from its nodes. */
const scheduleOf = (chainId: number) =>
  ForkSchedule.of(familyIdentity(String(chainId), `0x${'11'.repeat(32)}`, networkOf(chainId)?.family ?? ''))

/** A time after the newest known fork. */
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
