import t from 'tap'
import { TrustedProxies } from '../../../../src/serving/transport/trustedProxies.js'
import { test } from '../../../transport/eachTransport.js'
import { echo, withServer } from './testServer.js'

const trusted = new TrustedProxies(['10.0.0.0/8', '192.0.2.7', 'fd00::/8', '::1'])

t.test('without trusted proxies, or from elsewhere, the header is not read', async (t) => {
  t.equal(new TrustedProxies([]).clientOf('10.0.0.1', '203.0.113.9'), '10.0.0.1')
  t.equal(trusted.clientOf('203.0.113.1', '198.51.100.1'), '203.0.113.1')
  t.equal(trusted.clientOf('192.0.2.8', '198.51.100.1'), '192.0.2.8')
  t.equal(trusted.clientOf('', '198.51.100.1'), '')
})

t.test('the rightmost address that is not a proxy is the client', async (t) => {
  const cases: readonly (readonly [peer: string, header: string, client: string])[] = [
    ['10.0.0.1', '', '10.0.0.1'],
    ['10.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['10.0.0.1', '1.1.1.1, 203.0.113.9', '203.0.113.9'],
    ['10.0.0.1', '1.1.1.1, 203.0.113.9, 10.9.9.9,192.0.2.7', '203.0.113.9'],
    ['::1', '203.0.113.9, fd12::1', '203.0.113.9'],
    ['192.0.2.7', '2001:db8::1', '2001:db8::1'],
    ['192.0.2.7', '[2001:db8::1]:443', '2001:db8::1'],
    ['192.0.2.7', '[2001:db8::1]', '2001:db8::1'],
    ['192.0.2.7', '203.0.113.9:1234', '203.0.113.9'],
    ['192.0.2.7', '::ffff:203.0.113.9', '203.0.113.9'],
    ['192.0.2.7', '10.0.0.1, 10.0.0.2', '10.0.0.1'],
  ]
  for (const [peer, header, client] of cases) t.equal(trusted.clientOf(peer, header), client, header)
})

t.test('what is no address ends the search at what was believed so far', async (t) => {
  for (const header of [
    'unknown',
    '203.0.113.9, unknown',
    '203.0.113.9,',
    '1.1.1.1;',
    '999.1.1.1',
    '[::1',
    ':',
  ]) {
    t.equal(trusted.clientOf('10.0.0.1', header), '10.0.0.1', header)
  }
  t.equal(trusted.clientOf('10.0.0.1', '203.0.113.9, x, 10.0.0.2'), '10.0.0.2')
  t.equal(trusted.clientOf('10.0.0.1', `${'a,'.repeat(5_000)}203.0.113.9`), '203.0.113.9')
})

test('a server believes the header from trusted proxies alone', async (t) => {
  const { post, rejections, server } = await withServer(t)
  const addressOf = async (header: string) => {
    await post('/v3/wrong', echo, { 'x-forwarded-for': header })
    return rejections.at(-1)?.address
  }
  t.equal(await addressOf('203.0.113.9'), '127.0.0.1')
  await server.reconfigure({
    cors: '*',
    hosts: new Map(),
    trustedProxies: ['127.0.0.0/8'],
    tls: undefined,
    allowedHosts: undefined,
    requestLog: { sample: 0, isAll: false },
  })
  t.equal(await addressOf('198.51.100.1, 203.0.113.9'), '203.0.113.9')
  t.equal(await addressOf('nonsense'), '127.0.0.1')
})
