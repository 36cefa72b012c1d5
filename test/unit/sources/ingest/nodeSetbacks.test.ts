import t from 'tap'
import { NodeSetbacks } from '../../../../src/sources/ingest/follow/nodeSetbacks.js'
import type { IngestMessage } from '../../../../src/sources/ingest/thread/messages.js'
import type { Upstream } from '../../../../src/sources/upstream/upstream.js'
import type { Upstreams } from '../../../../src/sources/upstream/upstreams.js'

t.test(
  'only a node that is in the way again and again is told of as trouble while others lead',
  async (t) => {
    let ms = 0
    t.intercept(performance, 'now', { value: () => ms })
    const [bad, good] = [{ policy: { isQuarantined: true } }, {}] as Upstream[] as [Upstream, Upstream]
    const upstreams = {
      answering: [good],
      quorum: 1,
      choice: { doubt: () => undefined },
    } as unknown as Upstreams
    const said: IngestMessage[] = []
    const setbacks = new NodeSetbacks(upstreams, (message) => said.push(message))

    setbacks.pauseNode(bad, 5, 'block 5 is invalid')
    t.ok(setbacks.isPaused(bad))
    ms = 1_000
    t.notOk(setbacks.isPaused(bad))
    ms = 60_000
    setbacks.pauseNode(bad, 70, 'block 70 is invalid')
    t.equal(setbacks.trouble, undefined, 'a minute later it begins anew')
    ms += 1_000
    t.notOk(setbacks.isPaused(bad), 'also in how long it is held off')

    ms += 500
    setbacks.pauseNode(bad, 70, 'block 70 is invalid')
    t.equal(setbacks.trouble, 'block 70 is invalid', 'the others did not help')
    t.match(said, [{ type: 'said', text: 'block 70 is invalid', isError: true }])
    ms += 1_999
    t.ok(setbacks.isPaused(bad))
    setbacks.overcome(good, 71, true)
    t.equal(setbacks.trouble, undefined)
  },
)
