// @shares
/** Requests of the dashboard to the admin listener: its files, changes of keys, calls of methods. */

import t from 'tap'
import { waitFor } from '../../library/until.js'
import { adminOf } from '../../service/adminClient.js'
import { serveDemo } from '../../service/servedDemo.js'

t.test('the dashboard and what it changes', async (t) => {
  const { service, dataDir } = await serveDemo(t, {}, [])
  const admin = await adminOf(service, dataDir)
  const headers = { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' }
  const change = async (method: string, path: string, body?: object) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const { status, text } = await admin.get(path, { method, headers, ...sent })
    return { status, answer: JSON.parse(text) }
  }
  const statusOf = async (key: string) => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'
    return (await service.post(`/v3/${key}`, body)).status
  }

  t.test('its files need no token, and allow nothing from elsewhere', async (t) => {
    for (const path of ['/', '/dashboard.js', '/dashboard.css', '/icon.svg']) {
      const { status, text, headers } = await admin.get(path, { headers: {} })
      t.equal(status, 200, path)
      t.ok(text.length > 100)
      const policy = headers.get('content-security-policy') ?? ''
      t.match(policy, /^default-src 'none'; script-src 'self';/)
      t.notMatch(policy, /unsafe|\*|data:/)
      const head = await admin.get(path, { method: 'HEAD', headers: {} })
      t.strictSame([head.status, head.text], [200, ''])
      t.equal((await admin.get(path, { method: 'POST', headers: {} })).status, 405)
    }
    const { text } = await admin.get('/', { headers: {} })
    t.notMatch(text, /<style|style=|onload|https?:/, 'no inline code, nothing from the network')
  })

  t.test('keys are made, changed, rotated and revoked', async (t) => {
    const made = await change('POST', '/api/keys', { name: 'shop', scopes: { methods: ['eth_*'] } })
    t.equal(made.status, 201)
    const { key, text } = made.answer
    t.match(key, {
      name: 'shop',
      state: 'live',
      changedBy: 'admin:127.0.0.1',
      scopes: { methods: ['eth_*'] },
    })
    t.equal(await statusOf(text), 200)
    const set = await change('POST', `/api/keys/${key.id}`, { limits: { unitsPerDay: 500 } })
    t.match(set.answer, { name: 'shop', scopes: { methods: ['eth_*'] }, limits: { unitsPerDay: 500 } })
    const rotated = await change('POST', `/api/keys/${key.id}/rotate`, { overlapSeconds: 3_600 })
    t.match(rotated.answer.key, { id: key.id, earlierSecretUntil: /^20/ })
    t.equal(await statusOf(rotated.answer.text), 200)
    t.equal(await statusOf(text), 200, 'the earlier secret, for an hour')
    const revoked = await change('DELETE', `/api/keys/${key.id}`)
    t.match(revoked, { status: 200, answer: { id: key.id, state: 'revoked' } })
    for (const secret of [text, rotated.answer.text]) {
      await waitFor('the key to end', async () => (await statusOf(secret)) === 401)
    }
    t.equal((await change('POST', `/api/keys/${key.id}`, { name: 'other' })).status, 409)
    const { answer: audit } = await change('GET', '/api/audit')
    const ofKey = audit.filter(({ keyId }: { keyId: string | null }) => keyId === key.id)
    t.match(ofKey, [
      { action: 'key revoked', actor: /^admin:127\.0\.0\.1$/ },
      { action: 'key rotated', actor: /^admin:127\.0\.0\.1$/ },
      { action: 'key changed', actor: /^admin:127\.0\.0\.1$/, detail: 'unitsPerDay' },
      { action: 'key created', actor: /^admin:127\.0\.0\.1$/ },
    ])
  })

  t.test('a key that is not there is not found', async (t) => {
    const before = await admin.get('/api/audit')
    for (const [method, path, body] of [
      ['POST', '/api/keys/000000000001', { name: 'x' }],
      ['POST', '/api/keys/000000000001/rotate', {}],
      ['DELETE', '/api/keys/000000000001', undefined],
    ] as const) {
      const { status, answer } = await change(method, path, body)
      t.equal(status, 404, `${method} ${path}`)
      t.match(answer.error, 'there is no key with id 000000000001')
    }
    t.equal((await admin.get('/api/audit')).text, before.text)
  })

  t.test('what is wrong with a change is said, and nothing changes', async (t) => {
    const before = await admin.get('/api/keys')
    for (const [path, body, why] of [
      ['/api/keys', {}, 'a key needs a name'],
      ['/api/keys', { name: 'demo' }, 'exists already'],
      ['/api/keys', { name: 'x', scopes: { addresses: ['10.0.0.0/99'] } }, 'expected an IP address'],
      ['/api/keys', { name: 'x', colour: 'red' }, 'colour'],
      ['/api/keys/000000000001/rotate', { overlapSeconds: -1 }, 'overlapSeconds'],
    ] as const) {
      const { status, answer } = await change('POST', path, body)
      t.ok(status === 400 || status === 409, String(status))
      t.match(answer.error, why)
    }
    t.equal((await admin.get('/api/keys')).text, before.text)
  })

  t.test('a method is called without a key', async (t) => {
    const { answer } = await change('POST', '/api/networks/demo/call', { method: 'eth_chainId' })
    t.strictSame(JSON.parse(answer.answer), { jsonrpc: '2.0', id: 1, result: '0x20f1' })
    t.ok(answer.seconds > 0)
    const failed = await change('POST', '/api/networks/demo/call', { method: 'eth_nothing', params: [] })
    t.match(JSON.parse(failed.answer.answer), { error: { code: -32601 } })
    t.equal((await change('POST', '/api/networks/other/call', { method: 'eth_chainId' })).status, 400)
    const playground = JSON.parse((await admin.get('/api/playground')).text)
    t.match(playground.networks, [{ name: 'demo', tag: 'chain', url: `${service.origin}/v3/YOUR_API_KEY` }])
    t.ok(playground.openRpc.methods.length > 50)
  })
})
