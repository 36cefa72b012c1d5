import t from 'tap'
import { checkReadiness, type ReadinessFigures } from '../../../../src/operation/admin/readiness.js'

const network = {
  network: 'demo',
  opening: undefined,
  isReadable: true,
  cutOff: undefined,
  hasCaughtUp: true,
  headAgeMs: 5_000,
}
const rollup = { network: 'roll', isStoring: true, queueAgeMs: 5_000 }
const sharedKeys = { isAnswering: false, ageSeconds: 7, isAccepting: true, since: '2026-11-22T18:00:00.000Z' }
const well: ReadinessFigures = {
  transport: 'uws',
  isDraining: false,
  networks: [network],
  rollups: [rollup],
  sharedKeys,
}
const limits = { headAgeMsMax: 10_000, queueAgeMsMax: 10_000 }

t.test('a server that is well is ready, and says which transport it uses', async (t) => {
  const { ready, transport, failing, checks } = checkReadiness(well, limits)
  t.strictSame({ ready, transport, failing }, { ready: true, transport: 'uws', failing: [] })
  t.strictSame(new Set(Object.values(checks)), new Set(['ok']))
})

t.test('each check fails alone, and is named with its network', async (t) => {
  const cases: readonly (readonly [check: string, network: string | undefined, figures: ReadinessFigures])[] =
    [
      ['draining', undefined, { ...well, isDraining: true }],
      ['store', 'demo', { ...well, networks: [{ ...network, isReadable: false }] }],
      ['source', 'demo', { ...well, networks: [{ ...network, cutOff: 'no upstream answers: a' }] }],
      ['firstImport', 'demo', { ...well, networks: [{ ...network, hasCaughtUp: false }] }],
      [
        'firstImport',
        'demo',
        { ...well, networks: [{ ...network, opening: 'it starts', isReadable: false }] },
      ],
      [
        'source',
        'demo',
        { ...well, networks: [{ ...network, opening: 'it starts', cutOff: 'no upstream answers: a' }] },
      ],
      ['headAge', 'demo', { ...well, networks: [{ ...network, headAgeMs: 10_001 }] }],
      ['flush', 'roll', { ...well, rollups: [{ ...rollup, isStoring: false }] }],
      ['queueAge', 'roll', { ...well, rollups: [{ ...rollup, queueAgeMs: 10_001 }] }],
      ['sharedKeys', undefined, { ...well, sharedKeys: { ...sharedKeys, isAccepting: false } }],
    ]
  for (const [check, name, figures] of cases) {
    const { ready, failing, checks } = checkReadiness(figures, limits)
    t.equal(ready, false, check)
    t.match(failing, [{ check, ...(name !== undefined && { network: name }) }], check)
    t.equal(failing.length, 1, check)
    t.strictSame(
      Object.entries(checks).filter(([, state]) => state === 'failing'),
      [[check, 'failing']],
    )
  }
})

t.test('a source that is cut off before its first import is done has one fault', (t) => {
  const cut = { ...well, networks: [{ ...network, cutOff: 'no upstream answers: a', hasCaughtUp: false }] }
  t.match(checkReadiness(cut, limits).failing, [{ check: 'source', why: 'no upstream answers: a' }])
  t.equal(checkReadiness(cut, limits).failing.length, 1)
  t.end()
})

t.test('the age of shared keys is told where there are any', async (t) => {
  t.strictSame(checkReadiness(well, limits).sharedKeys, sharedKeys)
  t.notOk('sharedKeys' in checkReadiness({ ...well, sharedKeys: undefined }, limits))
})

t.test('heads of any age will do without a limit, and where no blocks are to come', async (t) => {
  const old = { ...well, networks: [{ ...network, headAgeMs: 1e12 }] }
  t.equal(checkReadiness(old, { ...limits, headAgeMsMax: undefined }).ready, true)
  const stored = { ...well, networks: [{ ...network, headAgeMs: undefined }] }
  t.equal(checkReadiness(stored, limits).ready, true)
})
