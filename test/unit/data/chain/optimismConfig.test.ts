/** The rules of the OP Stack that a genesis `config` gives, and which configs are none. */
import t from 'tap'
import { familyOf } from '../../../../src/data/chain/families/families.js'
import { fastLzLength } from '../../../../src/data/chain/families/optimism/fees.js'
import {
  type ForkName,
  ForkSchedule,
  includesFork,
  parseGenesisConfig,
} from '../../../../src/data/chain/forks.js'

const times = { regolithTime: 0, canyonTime: 10, shanghaiTime: 10, ecotoneTime: 20, cancunTime: 20 }
const later = { fjordTime: 30, graniteTime: 40, holoceneTime: 50, isthmusTime: 60, pragueTime: 60 }
const optimism = { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 }
const base = {
  chainId: 10,
  londonBlock: 0,
  terminalTotalDifficulty: 0,
  bedrockBlock: 0,
  optimism,
  ...times,
  ...later,
}
const full = { ...base, jovianTime: 70, karstTime: 80 }
const scheduleOf = (config: object) => new ForkSchedule(parseGenesisConfig(config))

t.test('each fork has the rules of one of Ethereum, and its own', async (t) => {
  const schedule = scheduleOf(full)
  t.equal(schedule.family.title, 'OP Stack')
  const expected: readonly (readonly [time: number, fork: ForkName, ethereum: ForkName, next: ForkName])[] = [
    [0, 'regolith', 'paris', 'shanghai'],
    [10, 'canyon', 'shanghai', 'cancun'],
    [20, 'ecotone', 'cancun', 'prague'],
    [30, 'fjord', 'cancun', 'prague'],
    [40, 'granite', 'cancun', 'prague'],
    [50, 'holocene', 'cancun', 'prague'],
    [60, 'isthmus', 'prague', 'osaka'],
    [70, 'jovian', 'prague', 'osaka'],
    [80, 'karst', 'osaka', 'amsterdam'],
  ]
  for (const [time, fork, ethereum, next] of expected) {
    for (const timestamp of [time, time + 9]) {
      t.equal(schedule.forkOf({ number: 5, timestamp, difficulty: 0n }), fork)
    }
    t.ok(includesFork(fork, ethereum), `${fork} has ${ethereum}`)
    t.notOk(includesFork(fork, next), `${fork} has not ${next}`)
    t.equal(familyOf(fork).title, 'OP Stack')
  }
  t.equal(familyOf('cancun').title, 'Ethereum')
})

t.test('a config whose forks do not come together is refused by its member', async (t) => {
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ ...full, shanghaiTime: 11 }, /config\.shanghaiTime is 11, and config\.canyonTime 10/],
    [{ ...full, pragueTime: undefined }, /config\.pragueTime is missing/],
    [{ ...full, osakaTime: 79 }, /config\.osakaTime is 79/],
    [{ ...full, graniteTime: 29 }, /granite at time 29 comes before fjord at 30/],
    [{ ...full, amsterdamTime: 90 }, /config\.amsterdamTime: the OP Stack has no such fork/],
    [{ ...full, bedrockBlock: undefined }, /config\.bedrockBlock is missing/],
    [{ ...full, optimism: 5 }, /config\.optimism: expected an object/],
    [{ ...full, optimism: { ...optimism, eip1559Denominator: 0 } }, /eip1559Denominator: must not be zero/],
    [{ ...full, optimism: {} }, /config\.optimism\.eip1559Elasticity/],
    [{ ...full, lagoonTime: 99 }, /names a fork that this version does not know \(lagoon\)/],
    [
      { ...full, optimism: undefined },
      /config\.\w+(Block|Time) names a fork that this version does not know/,
    ],
  ]
  for (const [config, message] of cases) t.throws(() => parseGenesisConfig(config), { message })
  t.doesNotThrow(() => parseGenesisConfig({ ...full, osakaTime: 80 }))
})

t.test('a difference in what the family adds is a difference of rules', async (t) => {
  const head = { number: 9, timestamp: 75, totalDifficulty: 0n }
  const differs = (config: object) => scheduleOf(full).firstDifference(scheduleOf(config), head)
  t.equal(differs(full), undefined)
  t.equal(differs({ ...full, optimism: { ...optimism, eip1559Elasticity: 7 } }), 'eip1559Elasticity')
  t.equal(differs({ ...full, fjordTime: 31 }), 'fjord')
  t.equal(differs({ ...full, karstTime: 90 }), undefined, 'that is still to come')
})

t.test('lengths of FastLZ are those of op-geth', async (t) => {
  // core/types/rollup_cost_test.go.
  const cases: readonly (readonly [Uint8Array, number])[] = [
    [new Uint8Array(0), 0],
    [new Uint8Array(1_000).fill(1), 21],
    [new Uint8Array(1_000).fill(0), 21],
    [Uint8Array.from([1, 2, 3]), 4],
  ]
  for (const [bytes, length] of cases) t.equal(fastLzLength(bytes), length)
})
