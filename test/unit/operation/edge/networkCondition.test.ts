/** The condition of a network: its level, and the one cause of it. */
import t from 'tap'
import { conditionOf, whyCutOff } from '../../../../src/operation/edge/networkCondition.js'
import type { OpenNetwork } from '../../../../src/operation/edge/openNetwork.js'
import { SinceWhen } from '../../../../src/primitives/sinceWhen.js'

const node = (name: string) => ({ name, isAnswering: true, isQuarantined: false, head: 5, lies: [] })
const silent = (name: string) => ({
  ...node(name),
  isAnswering: false,
  lastError: { atMs: 1, why: 'connect ECONNREFUSED' },
})
const well = {
  name: 'main',
  opening: undefined,
  failure: undefined,
  isReadable: true,
  upstreams: { head: 5, isDown: false, quorum: 2, nodes: [node('a'), node('b'), node('c')] },
  current: { syncing: undefined, head: { header: { fields: [] } } },
}
const conditionWith = (change: object) => conditionOf({ ...well, ...change } as unknown as OpenNetwork)
const nodes = (...nodes: readonly object[]) => ({ upstreams: { ...well.upstreams, nodes } })

t.test('each cause has a sentence of its own, and a level', async (t) => {
  const cases: readonly (readonly [change: object, level: string, why: string | undefined])[] = [
    [{}, 'ok', undefined],
    [nodes(node('a'), node('b'), silent('c')), 'degraded', 'c does not answer (connect ECONNREFUSED)'],
    [nodes(node('a'), node('b'), { ...node('c'), isQuarantined: true }), 'degraded', 'c is quarantined'],
    [
      nodes(node('a'), silent('b'), silent('c')),
      'failing',
      '2 of 3 upstreams have to agree on the head: b does not answer (connect ECONNREFUSED); c does not answer (connect ECONNREFUSED)',
    ],
    [
      { upstreams: { ...well.upstreams, isDown: true, nodes: [silent('a')] } },
      'failing',
      'no upstream answers: a does not answer (connect ECONNREFUSED)',
    ],
    [{ upstreams: { ...well.upstreams, trouble: 'block 7 is invalid' } }, 'failing', 'block 7 is invalid'],
    [
      { failure: 'failed', failureWhy: 'no such file' },
      'failing',
      'its source ended with an error: no such file',
    ],
    [
      { failure: 'restarting', failureWhy: 'gone' },
      'failing',
      'its source ended with an error, and starts again: gone',
    ],
    [{ opening: 'its source starts' }, 'failing', 'it has no block yet: its source starts'],
    [{ isReadable: false }, 'failing', 'its newest block cannot be read'],
    [
      { current: { ...well.current, syncing: {} } },
      'degraded',
      'it takes in blocks that its source already has',
    ],
    [
      {
        upstreams: {
          ...well.upstreams,
          quorum: undefined,
          signed: { nodes: [silent('beacon')] },
        },
      },
      'degraded',
      'beacon does not answer (connect ECONNREFUSED)',
    ],
  ]
  for (const [change, level, why] of cases) t.strictSame(conditionWith(change), { level, why })
  t.equal(whyCutOff(well as unknown as OpenNetwork), undefined)
})

t.test('a state has the time of its first report, until it ends', async (t) => {
  let nowMs = 1_000
  const since = new SinceWhen(() => nowMs)
  t.equal(since.of('network a', 'ok'), 1_000)
  nowMs = 2_000
  t.equal(since.of('network a', 'ok'), 1_000)
  t.equal(since.of('network a', 'failing'), 2_000)
  t.equal(since.of('check a', 'failing'), 2_000)
  nowMs = 3_000
  since.keepOnly('check ', [])
  t.equal(since.of('check a', 'failing'), 3_000)
  t.equal(since.of('network a', 'failing'), 2_000)
})
