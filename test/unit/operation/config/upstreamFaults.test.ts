/** Faults of the nodes that a network asks. */
import t from 'tap'
import { resolveServeConfig } from '../../../../src/operation/config/config.js'
import { refusal } from './folder.js'

t.test('what may be a key of a node is not repeated in a fault', async (t) => {
  const upstreams = [
    'https://rpc.example.org/v3/SECRET',
    'rpc.example.org/v3/SECRET',
    { url: 'htps://user:SECRET@rpc.example.org/SECRET', socketUrl: 'rpc.example.org/SECRET' },
    { url: 'https://rpc.example.org/3/SECRET', headers: { authorization: 571 } },
    { url: 'https://rpc.example.org/4/SECRET', headers: 'Bearer SECRET' },
    { url: 'https://rpc.example.org/5/SECRET', headers: { 'x-key': '' } },
  ]
  const roll = { name: 'roll', kind: 'rollup', chainId: 'X', upstream: { url: 'ftp://seq.example/SECRET' } }
  const networks = [
    { name: 'many', kind: 'gateway', upstreams },
    { name: 'one', kind: 'gateway', upstreams: { url: 'https://rpc.example.org/SECRET' } },
    roll,
  ]
  t.equal(
    refusal(t.testdir(), { networks }),
    [
      'the configuration DIR/tidegate.json has 8 faults; correct the faults below and start again',
      '  networks[0].upstreams[1]: expected a URL of http, https, ws or wss, or an object, got "…"',
      '  networks[0].upstreams[2].url: expected a URL of http, https, ws or wss, got "htps://rpc.example.org/…"',
      '  networks[0].upstreams[2].socketUrl: expected a URL of ws or wss, got "…"',
      '  networks[0].upstreams[3].headers.authorization: expected the value of a header, got "…"',
      '  networks[0].upstreams[4].headers: expected an object, got "…"',
      '  networks[0].upstreams[5].headers.x-key: expected the value of a header, got ""',
      '  networks[1].upstreams: expected an array, got {"url":"https://rpc.example.org/…"}',
      '  networks[2].upstream.url: expected an http or https URL, got "ftp://seq.example/…"',
    ].join('\n'),
  )
})

t.test('each node counts once, and no more have to agree than there are', async (t) => {
  const upstreams = ['https://a.example/SECRET', 'https://b.example', { url: 'https://A.example:443/SECRET' }]
  const source = { type: 'follow', upstreams, quorum: 4 }
  const networks = [
    { name: 'asked', kind: 'gateway', upstreams, quorum: 4 },
    { name: 'followed', genesis: 'genesis.json', source },
  ]
  const faults = (path: string) => [
    `  ${path}.upstreams[2]: expected another URL than that of upstreams[0], since a node counts once`,
    `  ${path}.quorum: expected at most the number of upstreams (3), got 4`,
  ]
  t.strictSame(refusal(t.testdir(), { networks }).split('\n').slice(1), [
    ...faults('networks[0]'),
    ...faults('networks[1].source'),
  ])
  const under = {
    name: 'under',
    genesis: 'genesis.json',
    source: { type: 'consensus', from: upstreams, transactions: { to: upstreams } },
  }
  t.strictSame(
    refusal(t.testdir(), { networks: [under] })
      .split('\n')
      .slice(1),
    ['from', 'transactions.to'].map(
      (list) =>
        `  networks[0].source.${list}[2]: expected another URL than that of ${list}[0], since a node counts once`,
    ),
  )
  const upstream = ['https://a.example', 'https://a.example/']
  t.throws(() => resolveServeConfig({ network: 'a', data: t.testdir(), engineFrom: upstream }), {
    message: '--engine-from names one URL twice, and a node counts once; leave one out',
  })
  t.throws(() => resolveServeConfig({ network: 'a', data: t.testdir(), upstream }), {
    message: '--upstream names one URL twice, and a node counts once; leave one out',
  })
})
