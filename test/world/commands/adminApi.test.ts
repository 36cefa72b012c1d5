// @shares
/** The admin API beside a running server: each answer is checked against the OpenAPI document that it gives. */
import { request } from 'node:http'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import { waitFor } from '../../library/until.js'
import { makeTransaction } from '../../rollup/invokeTransactions.js'
import { blockAt, headBlock, hex } from '../../rpc/demoChain.js'
import { type Admin, adminOf } from '../../service/adminClient.js'
import { runHere, runProgram } from '../../service/program.js'
import { type DemoSettings, serveDemo } from '../../service/servedDemo.js'

function serve(t: Test, settings: DemoSettings = {}, flags?: readonly string[]) {
  const networks = [{ name: 'roll', kind: 'rollup', chainId: 'SN_SEPOLIA' }]
  return serveDemo(t, { demo: { hosts: ['demo.example'] }, networks, ...settings }, flags)
}

/** A server for tests that do not change data of each other. */
const shared = await serve(t)

async function open(t: Test, served: Awaited<ReturnType<typeof serve>>) {
  const admin = await adminOf(served.service, served.dataDir)
  const document = JSON.parse((await admin.get('/openapi.json')).text)
  return { ...served, admin, document, ask: (...of: Asked) => ask(t, admin, document, ...of) }
}

const start = async (t: Test, ...of: [settings?: DemoSettings, flags?: readonly string[]]) =>
  open(t, await serve(t, ...of))

type Asked = [method: string, path: string, body?: unknown]

/** Asks, checks status, content type and the answer against the document, and returns the answer. */
// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes, which the document describes
async function ask(t: Test, admin: Admin, document: any, method: string, path: string, body?: unknown) {
  const { status, text, headers } = await admin.get(path, {
    method,
    headers: {
      authorization: `Bearer ${admin.token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const [bare = ''] = path.split('?')
  const template = Object.keys(document.paths).find((known) =>
    new RegExp(`^${known.replace('{id}', '[^/]+')}$`).test(bare),
  )
  const { responses } = document.paths[template ?? ''][method.toLowerCase()]
  const { content } = responses[status] ?? responses.default
  t.match(headers.get('content-type'), Object.keys(content)[0])
  const answer = JSON.parse(text)
  checkShape(t, document, content['application/json'].schema, answer)
  return { status, answer }
}

interface Shapes {
  readonly ajv: Ajv2020
  /** Schema as JSON → its validator: compiling one takes longer than all other work of a call. */
  readonly validators: Map<string, ValidateFunction>
}

/** Text of a document → its shapes: servers with the same methods give the same one. */
const shapesOf = new Map<string, Shapes>()

function checkShape(t: Test, document: object, schema: object, value: unknown): void {
  const { ajv, validators } = openShapes(document)
  const text = JSON.stringify(schema)
  const validate = validators.get(text) ?? ajv.compile(JSON.parse(text.replaceAll('"#/', '"openapi#/')))
  validators.set(text, validate)
  t.ok(validate(value), ajv.errorsText(validate.errors))
}

function openShapes(document: object): Shapes {
  const text = JSON.stringify(document)
  const known = shapesOf.get(text)
  if (known !== undefined) return known
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ ...document, $id: 'openapi' })
  const shapes = { ajv, validators: new Map<string, ValidateFunction>() }
  shapesOf.set(text, shapes)
  return shapes
}

t.test('state and networks are as the document says', async (t) => {
  const { service, ask } = await start(t)
  const networks = await ask('GET', '/api/networks')
  t.match(networks.answer, [
    {
      name: 'demo',
      kind: 'archive',
      isDefault: true,
      hosts: ['demo.example'],
      chain: { head: { number: headBlock.number }, isSyncing: false, isReadable: true, upstreams: [] },
      queue: null,
    },
    { name: 'roll', kind: 'rollup', chain: null, queue: { waiting: 0, isStoring: true } },
  ])
  for (let call = 0; call < 3; call++) {
    await service.post('/', '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}')
  }
  await service.post('/', '{"jsonrpc":"2.0","id":1,"method":"eth_nothing","params":[]}')
  const found = await waitFor('a sample with the calls', async () => {
    const { answer } = await ask('GET', '/api/state')
    return answer.methods.length === 2 && answer
  })
  t.match(found, { ready: true, failing: [], methods: [{ method: 'eth_chainId' }, { method: 'other' }] })
  t.match(found.errors, [{ code: '-32601', total: 1 }])
})

t.test('the history has the calls of all methods or one, errors by code, and what keys spent', async (t) => {
  const { service, ask } = await start(t)
  const body = (method: string) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] })
  for (let call = 0; call < 100; call++) await service.post('/', body('eth_chainId'))
  for (let call = 0; call < 10; call++) await service.post('/', body('eth_getBalance'))
  const found = await waitFor('what keys spent', async () => {
    const { answer } = await ask('GET', '/api/history?span=day')
    return answer.keys.length > 0 && answer
  })
  const { at, keys, errors, methods, ages, networks, failures, refusals, ...series } = found
  t.equal(at.length, 1, 'the minute that is not over')
  for (const [name, values] of Object.entries(series)) t.equal((values as unknown[]).length, at.length, name)
  t.ok(found.callsPerSecond[0] > found.errorsPerSecond[0] && found.errorsPerSecond[0] > 0)
  t.ok(found.p50Seconds[0] > 0, 'stored answers are timed')
  t.ok(found.p50Seconds[0] <= found.p99Seconds[0])
  t.match(keys, [{ id: '000000000000', name: 'without a key' }])
  t.ok(keys[0].unitsPerSecond[0] > 0)
  t.match(errors, [{ code: '-32602', perSecond: [Number] }])
  t.match(methods, [
    { network: 'demo', method: 'eth_chainId', calls: 100, errors: 0 },
    { network: 'demo', method: 'eth_getBalance', errors: 10 },
  ])
  t.match(networks, [{ network: 'demo', calls: 110, errors: 10 }])
  t.strictSame(failures, [{ network: 'demo', method: 'eth_getBalance', code: '-32602', count: 10 }])
  t.strictSame(refusals, [])
  const { answer: elsewhere } = await ask('GET', '/api/history?network=nowhere')
  t.strictSame([elsewhere.methods, elsewhere.failures, elsewhere.errors], [[], [], []])
  t.match(ages, [{ network: 'demo', seconds: [Number] }])
  const { answer: ofKey } = await ask('GET', '/api/history?key=000000000000')
  t.match(ofKey.keys, [{ id: '000000000000', unitsPerSecond: [Number] }])
  const { answer: ofOther } = await ask('GET', '/api/history?key=0123456789ab')
  t.match(ofOther.keys, [{ id: '0123456789ab', unitsPerSecond: [0] }])
  t.equal((await ask('GET', '/api/history?key=x')).status, 400)
  const { answer: one } = await ask('GET', '/api/history?method=eth_chainId')
  t.ok(one.callsPerSecond[0] > 0 && one.errorsPerSecond[0] === 0)
  t.equal((await ask('GET', '/api/history?span=year')).status, 400)
})

t.test('the newest blocks of a network are listed', async (t) => {
  const { ask } = await open(t, shared)
  const { answer } = await ask('GET', '/api/networks/demo/blocks')
  t.equal(answer.length, 10)
  for (const [index, block] of answer.entries()) {
    const { number, hash, header, transactions } = blockAt(headBlock.number - index)
    const [gasLimit, gasUsed, timestamp] = header.slice(9, 12).map((field) => Number(hex(field)) || 0)
    t.strictSame(block, {
      number,
      hash,
      timestamp: new Date((timestamp ?? 0) * 1_000).toISOString(),
      transactions: transactions.length,
      gasUsed,
      gasLimit,
    })
  }
  for (const name of ['roll', 'nothing']) {
    t.equal((await ask('GET', `/api/networks/${name}/blocks`)).status, 400, name)
  }
})

t.test('the submissions of a rollup that wait longest are listed', async (t) => {
  const { ask, service } = await open(t, shared)
  t.match((await ask('GET', '/api/networks/roll/submissions')).answer, { prefix: 'rollupx', waiting: [] })
  const hashes: string[] = []
  for (let sender = 1; sender <= 60; sender++) {
    const params = { invoke_transaction: makeTransaction(sender, 7) }
    const body = { jsonrpc: '2.0', id: 1, method: 'rollupx_addInvokeTransaction', params }
    hashes.push(JSON.parse((await service.post('/roll', JSON.stringify(body))).text).result.transaction_hash)
  }
  const { answer } = await ask('GET', '/api/networks/roll/submissions')
  t.strictSame(
    answer.waiting.map(({ hash }: { hash: string }) => hash),
    hashes.slice(0, 50),
  )
  t.match(answer.waiting[0], { state: 'RECEIVED', sender: '0x1', nonce: '0x7', bytes: Number })
  for (const name of ['demo', 'nothing']) {
    t.equal((await ask('GET', `/api/networks/${name}/submissions`)).status, 400, name)
  }
})

t.test('each event of the live stream is a state', async (t) => {
  const { admin, document } = await open(t, shared)
  const { schema } = document.paths['/api/live'].get.responses[200].content['text/event-stream']
  const controller = new AbortController()
  const response = await fetch(`${admin.origin}/api/live`, {
    headers: { authorization: `Bearer ${admin.token}` },
    signal: controller.signal,
  })
  t.match(response.headers.get('content-type'), 'text/event-stream')
  let text = ''
  const decoder = new TextDecoder()
  for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(part, { stream: true })
    if (text.split('\n\n').length > 3) break
  }
  controller.abort()
  const events = text.split('\n\n').slice(0, 3)
  const times = events.map((event) => {
    const [name, data = ''] = event.split('\n')
    t.equal(name, 'event: state')
    const state = JSON.parse(data.replace(/^data: /, ''))
    checkShape(t, document, schema, state)
    return Date.parse(state.at)
  })
  t.ok((times[0] as number) < (times[2] as number))
})

t.test('everything but /live and /ready needs the token and a host name that is known', async (t) => {
  const { admin, service } = await start(t, { admin: { hosts: ['admin.example.org'] } })
  for (const path of ['/api/state', '/api/live', '/api/keys', '/openapi.json', '/metrics', '/nothing']) {
    t.equal((await admin.get(path, { headers: {} })).status, 401, path)
    t.equal(await statusFor(admin, path, 'evil.example'), 403, path)
  }
  t.equal(await statusFor(admin, '/ready', 'evil.example'), 200)
  t.equal(await statusFor(admin, '/api/networks', 'Admin.Example.org:8550'), 200)
  t.equal(await statusFor(admin, '/api/networks', 'localhost'), 200)
  await service.stop()
})

t.test('a web page of another origin can neither read nor change anything', async (t) => {
  const { admin } = await open(t, shared)
  const authorization = `Bearer ${admin.token}`
  const origin = 'http://evil.example'
  const read = await admin.get('/api/keys', { headers: { authorization, origin } })
  t.equal(read.headers.get('access-control-allow-origin'), null)
  const preflight = await admin.get('/api/keys', { method: 'OPTIONS', headers: { authorization, origin } })
  t.equal(preflight.status, 405)
  t.equal(preflight.headers.get('access-control-allow-origin'), null)
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
    const headers = { authorization, 'content-type': type }
    const { status } = await admin.get('/api/keys', { method: 'GET', headers })
    t.equal(status, 200, 'no body')
  }
})

t.test('keys are made, changed, rotated and revoked as the document says', async (t) => {
  const { admin, document, ask, service } = await start(t, {}, [])
  const fits = (path: string, body: object) => {
    const { requestBody } = document.paths[path].post
    checkShape(t, document, requestBody.content['application/json'].schema, body)
  }
  const settings = {
    name: 'shop',
    expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    scopes: { networks: ['demo'], methods: ['eth_*'], addresses: ['127.0.0.0/8'] },
    limits: { requestsPerSecond: 25, unitsPerDay: 5_000 },
  }
  fits('/api/keys', settings)
  const made = await ask('POST', '/api/keys', settings)
  t.equal(made.status, 201)
  const { key, text: first } = made.answer
  const { expiresAt, ...kept } = settings
  t.match(key, { ...kept, state: 'live' })
  t.equal(Date.parse(key.expiresAt), Date.parse(expiresAt))

  const changes = { name: 'shop 2', scopes: { methods: [] }, limits: { unitsPerDay: null } }
  fits('/api/keys/{id}', changes)
  const changed = await ask('POST', `/api/keys/${key.id}`, changes)
  t.match(changed, { status: 200, answer: { id: key.id, name: 'shop 2', changedBy: 'admin:127.0.0.1' } })
  t.match(changed.answer.scopes, { networks: ['demo'], methods: [] })
  t.match(changed.answer.limits, { requestsPerSecond: 25, unitsPerDay: null })

  fits('/api/keys/{id}/rotate', { overlapSeconds: 60 })
  const rotated = await ask('POST', `/api/keys/${key.id}/rotate`, { overlapSeconds: 60 })
  t.match(rotated, { status: 200, answer: { key: { id: key.id } } })
  t.ok(Date.parse(rotated.answer.key.earlierSecretUntil) > Date.parse(key.createdAt))
  const second = rotated.answer.text
  for (const text of [first, second]) {
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'
    t.equal((await service.post(`/v3/${text}`, body)).status, 200)
  }

  const revoked = await ask('DELETE', `/api/keys/${key.id}`)
  t.match(revoked, { status: 200, answer: { id: key.id, state: 'revoked' } })
  for (const [method, path, body] of [
    ['POST', '/api/keys', { name: 'shop', colour: 'red' }],
    ['POST', `/api/keys/${key.id}`, { name: 'again' }],
    ['POST', '/api/keys/0000000000ff/rotate', {}],
    ['DELETE', '/api/keys/0000000000ff', undefined],
  ] as const) {
    const { status, answer } = await ask(method, path, body)
    t.ok(status >= 400 && status < 500, `${status}`)
    t.strictSame(Object.keys(answer), ['error'])
  }

  await waitFor('the use of the key', async () => {
    const { answer } = await ask('GET', '/api/usage?by=key')
    return answer.rows.some((row: { key: string; calls: number }) => row.key === key.id && row.calls === 2)
  })
  const answers = [JSON.stringify({ ...made.answer, text: '' }), JSON.stringify(rotated.answer.key)]
  for (const path of Object.keys(document.paths).filter(
    (path) => !path.includes('{') && path !== '/api/live',
  )) {
    const { status, text } = await admin.get(path)
    t.equal(status, 200, path)
    answers.push(text)
  }
  t.ok(answers.length >= 8)
  const all = [...answers, JSON.stringify([changed, revoked])].join()
  t.ok(all.includes(key.id))
  for (const secret of [first, second].map((text: string) => text.slice('tg_'.length))) {
    const parts = Array.from({ length: secret.length - 11 }, (_, at) => secret.slice(at, at + 12))
    t.ok(parts.length > 20)
    t.strictSame(
      parts.filter((part) => all.includes(part)),
      [],
    )
  }
})

t.test('a body that is forged, too long or no JSON changes nothing', async (t) => {
  const { admin } = await open(t, shared)
  const before = (await admin.get('/api/keys')).text
  const authorization = `Bearer ${admin.token}`
  const post = async (body: RequestInit['body'], type?: string) => {
    const headers = { authorization, origin: 'http://evil.example', ...(type && { 'content-type': type }) }
    const { status, text } = await admin.get('/api/keys', {
      method: 'POST',
      headers,
      body,
      duplex: 'half',
    } as object)
    return [status, JSON.parse(text).error] as const
  }
  const good = '{"name":"forged"}'
  // Types that a form or a script of another origin may send without a preflight.
  const simple = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']
  for (const type of [...simple, 'text/plain; application/json', undefined]) {
    const body = type === undefined ? Buffer.from(good) : good
    t.strictSame(
      await post(body, type),
      [415, 'a body must have the content type application/json'],
      String(type),
    )
  }
  const json = 'application/json'
  const long = [413, 'a body has at most 65536 bytes'] as const
  t.strictSame(await post(JSON.stringify({ name: 'x'.repeat(65_536) }), json), long)
  t.strictSame(await post('x'.repeat(20e6), json), long)
  t.strictSame(await post(new Blob(['x'.repeat(1e6)]).stream(), json), long, 'without a length')
  for (const body of ['{"name":"forged"', 'name=forged', '\u0000', '{"name":"forged"}{}']) {
    t.strictSame(await post(body, json), [400, 'the body is not JSON'], body)
  }
  for (const body of ['[]', 'null', '"forged"', '7']) t.match(await post(body, json), [400, /^body/], body)
  t.match(await post('', json), [400, /body/], 'none')
  t.equal((await admin.get('/api/keys')).text, before)
})

t.test('a wrong query is refused with what is wrong', async (t) => {
  const { admin } = await open(t, shared)
  for (const [path, why] of [
    ['/api/usage?key=xyz', /query\.key/],
    ['/api/usage?by=colour', /grouped by/],
    ['/api/usage?from=yesterday', /expected a day/],
    ['/api/usage?colour=red', /colour/],
    ['/api/networks?x=1', /takes no query/],
  ] as const) {
    const { status, text } = await admin.get(path)
    t.equal(status, 400, path)
    t.match(JSON.parse(text).error, why)
  }
})

t.test('names that all objects have, and bodies of any depth, are no defects', async (t) => {
  const { admin, document } = await open(t, shared)
  const names = [...Object.getOwnPropertyNames(Object.prototype), 'prototype', 'length']
  const queries: Readonly<Record<string, readonly string[]>> = {
    '/api/history': ['method', 'key', 'span'],
    '/api/usage': ['key', 'by', 'from', 'to', 'method', 'network'],
    '/api/audit': ['key', 'before', 'count'],
  }
  const methods = Object.entries(document.paths as Record<string, object>).flatMap(([path, of]) =>
    Object.keys(of).map((method) => ({ path, method: method.toUpperCase() })),
  )
  t.ok(methods.length > 10)
  for (const name of names) {
    for (const { path, method } of methods) {
      if (path === '/api/live' || method === 'HEAD') continue
      const asked = queries[path]?.map((query) => `${path}?${query}=${name}`) ?? [path.replace('{id}', name)]
      for (const each of asked) {
        const { status, text } = await admin.get(each, {
          method,
          headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' },
          ...(method !== 'GET' && { body: `{"${name}":{"${name}":1}}` }),
        })
        if (status >= 500) t.fail(`${method} ${each}: ${status} ${text}`)
      }
    }
  }
  const call = async (params: string) => {
    const { status, text } = await admin.get('/api/networks/demo/call', {
      method: 'POST',
      headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' },
      body: `{"method":"eth_chainId","params":${params}}`,
    })
    return { status, text }
  }
  for (const depth of [1, 60, 63, 64, 100, 5_000, 30_000]) {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const inner = open === '[' ? '' : '1'
      const isLong = depth * (open.length + 1) > 60_000
      const { status, text } = await call(open.repeat(depth) + inner + close.repeat(depth))
      if (isLong) t.equal(status, 413)
      else t.equal(status, depth < 64 ? 200 : 400, `${depth}: ${text.slice(0, 200)}`)
    }
  }
  t.match(await call('["__proto__",{"__proto__":{"toString":1}}]'), { status: 200 })
})

t.test('keys in the parameters of slow calls are shown to nobody', async (t) => {
  const { admin, service } = await start(t, {}, ['--no-auth'])
  const secret = `tg_${'Ab3'.repeat(16)}z`
  const token = `eyJ${'hbGciOiJIUzI1NiJ9'.repeat(2)}.eyJzdWIiOiIxIn0.c2lnbmF0dXJlc2lnbmF0dXJl`
  // A slow call: a loop without end.
  const loop = '0x5b600056'
  const to = `0x${'ee'.repeat(20)}`
  for (const text of [secret, token, secret.slice(0, 20)]) {
    const call = { to, [text]: text, data: '0x', input: '0x' }
    const body = (params: unknown) => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_call', params })
    await service.post('/', body([{ ...call, note: [text] }, 'latest', { [to]: { code: loop } }]))
    await service.post(
      '/',
      body([{ to, note: `https://${text}@example.org/${text}` }, 'latest', { [to]: { code: loop } }]),
    )
  }
  const shown = await waitFor('slow calls', async () => {
    const { text } = await admin.get('/api/state')
    return JSON.parse(text).slowCalls.length >= 6 && text
  })
  for (const part of ['Ab3Ab3Ab', 'hbGciOiJIU', 'c2lnbmF0']) t.notOk(shown.includes(part), `${part} is shown`)
  t.ok(shown.includes(to), 'all else is')
})

t.test('wrong tokens are in the audit log, in summary', async (t) => {
  const { admin, ask, service, config } = await start(t)
  for (let guess = 0; guess < 5; guess++) {
    await admin.get('/api/keys', { headers: { authorization: `Bearer wrong${guess}` } })
  }
  const failures = async () =>
    (await ask('GET', '/api/audit')).answer.filter(
      ({ action }: { action: string }) => action === 'log-in failed',
    )
  const found = await waitFor('an entry', async () => {
    const entries = await failures()
    return entries.length > 0 && entries
  })
  t.match(found, [{ actor: 'admin:127.0.0.1', keyId: null, detail: '1 wrong tokens from 127.0.0.1' }])
  await service.stop()
  const { out } = await runProgram(['audit', '--config', config, '--json'])
  const details = (JSON.parse(out) as { action: string; detail: string }[])
    .filter(({ action }) => action === 'log-in failed')
    .map(({ detail }) => detail)
  t.strictSame(details, ['1 wrong tokens from 127.0.0.1', '4 wrong tokens from 127.0.0.1'])
  const table = await runHere(['audit', '--config', config])
  t.match(table.out, /^ENTRY +TIME +WHO +WHAT +KEY +DETAIL\n1 /)
  const verified = await runHere(['audit', 'verify', '--config', config])
  t.equal(verified.status, 0)
  const [hash = ''] = /[0-9a-f]{64}/.exec(verified.out) ?? []
  t.equal((await runHere(['audit', 'verify', '--hash', hash, '--config', config])).status, 0)
  const other = await runHere(['audit', 'verify', '--hash', '0'.repeat(64), '--config', config])
  t.equal(other.status, 1)
  t.match(other.err, 'not whole: no entry has the hash')
  t.equal((await runHere(['audit', 'verfy', '--config', config])).status, 2)
})

/** The status of a request with another Host header, which fetch does not allow to set. */
function statusFor({ origin, token }: Admin, path: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { host, authorization: `Bearer ${token}` }
    const asked = request(`${origin}${path}`, { headers }, (response) => {
      response.destroy()
      resolve(response.statusCode)
    })
    asked.on('error', reject)
    asked.end()
  })
}
