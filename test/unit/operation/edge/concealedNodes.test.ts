/** The view of nodes by `/health` for callers: their state, and no address. */
import t from 'tap'
import { concealed, concealedName, readHealth } from '../../../../src/operation/edge/health.js'
import { SinceWhen } from '../../../../src/primitives/sinceWhen.js'
import type { UpstreamsState } from '../../../../src/sources/ingest/thread/messages.js'

const node = (name: string) => ({ name, isAnswering: false, isQuarantined: false, head: 5 })
const upstreams = {
  nodes: ['rpc.example.org', 'rpc.example.org (2)', '10.1.2.3:8545', '[::1]:8545'].map(node),
  signed: { nodes: ['beacon.example.org:5052'].map(node) },
} as unknown as UpstreamsState

t.test('nodes have numbers, and a feed its name', async (t) => {
  t.strictSame(['rpc.example.org', '10.1.2.3:8545', '[::1]:8545', 'feed'].map(concealedName), [
    '1',
    '2',
    '3',
    'feed',
  ])
})

t.test('sentences name no address, of nodes that are known or not', async (t) => {
  const sentences = {
    'upstream rpc.example.org (2) is of another chain': 'upstream 2 is of another chain',
    'upstreams 10.1.2.3:8545 and [::1]:8545 disagree': 'upstreams 3 and 4 disagree',
    'beacon node beacon.example.org:5052 answers nothing': 'beacon node 1 answers nothing',
    'upstream eth.example.net does not answer (connect ECONNREFUSED 172.16.0.9:443)':
      'upstream (address) does not answer (connect ECONNREFUSED (address))',
    'no answer of https://user:secret@node.example.net:8545/KEY': 'no answer of (address)',
    'getaddrinfo ENOTFOUND db.internal:5432': 'getaddrinfo ENOTFOUND (address)',
    'block 81 (0x45) is invalid: gas used 1.5 too high; update Tidegate 0.1.0':
      'block 81 (0x45) is invalid: gas used 1.5 too high; update Tidegate 0.1.0',
  }
  for (const [text, expected] of Object.entries(sentences)) t.equal(concealed(text, upstreams), expected)
})

t.test('the page has no host or port', async (t) => {
  const network = {
    name: 'main',
    opening: 'upstream rpc.example.org does not say which chain it has',
    failure: 'its source ended: connect ECONNREFUSED 10.1.2.3:8545',
    upstreams,
    current: { syncing: undefined },
    isReadable: false,
  }
  const { body } = await readHealth({
    networks: [network as never],
    rollups: [],
    sharedKeys: undefined,
    isDiskFull: false,
    isDraining: false,
    since: new SinceWhen(),
  })
  t.notMatch(body, /example|10\.1|::1|8545|5052/)
  t.match(JSON.parse(body), {
    networks: { main: { trouble: String, upstreams: { 1: { trouble: 'no answer' }, 4: { head: 5 } } } },
  })
})
