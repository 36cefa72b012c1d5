/** Tests the time since which each part of `/health` has its state. */
import t from 'tap'
import { readHealth } from '../../../../src/operation/edge/health.js'
import { SinceWhen } from '../../../../src/primitives/sinceWhen.js'

const node = (name: string, isAnswering: boolean) => ({ name, isAnswering, isQuarantined: false })

t.test('a part has the time of its last change, whatever the others do', async (t) => {
  let nowMs = 0
  const since = new SinceWhen(() => nowMs)
  /** Times in seconds, after a second in which these answer. */
  const read = async (upstream: boolean, beacon: boolean, keys: boolean, storing: boolean, disk: boolean) => {
    nowMs += 1_000
    const upstreams = {
      isDown: false,
      nodes: [node('a:1', true), node('b:1', upstream)],
      signed: { nodes: [node('c:1', beacon)] },
    }
    const rollup = { isStoring: storing, condition: storing ? 'ok' : 'failing', since: 'its own' }
    const { body } = await readHealth({
      networks: [
        { name: 'main', opening: 'it begins', upstreams, current: { syncing: undefined }, isReadable: true },
      ] as never,
      rollups: [{ name: 'roll', health: () => rollup }] as never,
      sharedKeys: { isAnswering: keys, ageSeconds: 1, isAccepting: true },
      isDiskFull: disk,
      isDraining: false,
      since,
    })
    const { networks, sharedKeys, ...whole } = JSON.parse(body)
    const { upstreams: nodes, signed } = networks.main
    t.equal(networks.roll.since, 'its own')
    t.equal(networks.main.condition, 'failing')
    const entries = [whole, networks.main, nodes[1], nodes[2], signed.beaconNodes[1], sharedKeys]
    return [
      ...entries.map((entry) => Date.parse(entry.since) / 1_000),
      whole.diskSince && Date.parse(whole.diskSince) / 1_000,
    ]
  }
  t.strictSame(await read(true, true, true, true, false), [1, 1, 1, 1, 1, 1, undefined])
  t.strictSame(await read(false, true, true, true, false), [1, 1, 1, 2, 1, 1, undefined])
  t.strictSame(await read(false, false, true, true, true), [3, 1, 1, 2, 3, 1, 3])
  t.strictSame(await read(false, false, false, true, true), [3, 1, 1, 2, 3, 4, 3])
  t.strictSame(await read(true, false, true, false, false), [3, 1, 1, 5, 3, 5, undefined])
  t.strictSame(await read(true, true, true, true, false), [6, 1, 1, 5, 6, 5, undefined])
})
