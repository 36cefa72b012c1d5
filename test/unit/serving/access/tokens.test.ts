import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { SignJWT } from 'jose'
import t, { type Test } from 'tap'
import {
  addToken,
  createKey,
  findKey,
  removeToken,
  revokeKey,
} from '../../../../src/serving/access/keyChanges.js'
import { keyToJson } from '../../../../src/serving/access/keyRecord.js'
import { verifierOfPublicKey, verifierOfSecret } from '../../../../src/serving/access/tokens.js'
import { openRig, why } from './keyRig.js'

const pair = (namedCurve = 'P-256') => generateKeyPairSync('ec', { namedCurve })
const pemOf = (key: ReturnType<typeof pair>['publicKey']) =>
  key.export({ format: 'pem', type: 'spki' }).toString()
const secret = randomBytes(32)
const minuteMs = 60_000
const seconds = (ms: number) => Math.floor(ms / 1_000)

/** A key with a signer of each algorithm. */
function openSigned(t: Test) {
  const rig = openRig(t)
  const { store, ring } = rig
  const { key } = createKey(store, ring.pepper, { name: 'shop' }, 'test')
  const { publicKey, privateKey } = pair()
  addToken(store, 'shop', verifierOfPublicKey(pemOf(publicKey)), 'test')
  addToken(store, 'shop', verifierOfSecret(secret, ring.pepper), 'test')
  const sign = (claims = {}, header = {}, by: Parameters<SignJWT['sign']>[0] = privateKey) =>
    new SignJWT({ exp: seconds(Date.now() + 5 * minuteMs), ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: key.id, ...header })
      .sign(by)
  return { ...rig, key, sign, privateKey }
}

t.test('a token stands for its key until its exp', async (t) => {
  const { ring, sign, key, setDate } = openSigned(t)
  const exp = seconds(Date.now() + 5 * minuteMs)
  for (const token of [await sign({ exp }), await sign({ exp }, { alg: 'HS256' }, secret)]) {
    const check = ring.authorize(token)
    t.match(check, { ok: true, key: { id: key.id, name: 'shop' }, untilMs: exp * 1_000 })
    t.equal(ring.authorize(token), check, 'remembered')
    setDate(exp * 1_000 - 1)
    t.equal(why(ring.authorize(token)), 'ok')
    setDate(exp * 1_000)
    t.equal(why(ring.authorize(token)), 'tokenExpired')
    setDate(Date.now())
  }
})

t.test('a token that is not right is refused, and why', async (t) => {
  const { ring, sign, store, key, privateKey } = openSigned(t)
  const other = createKey(store, ring.pepper, { name: 'other' }, 'test').key.id
  const good = await sign()
  const [head = '', claims = '', signature = ''] = good.split('.')
  const none = Buffer.from(JSON.stringify({ alg: 'none', kid: key.id })).toString('base64url')
  const soon = Date.now() + 5 * minuteMs
  const cases: readonly (readonly [string, string, string])[] = [
    ['no signature', `${head}.${claims}.`, 'tokenMalformed'],
    ['alg none', `${none}.${claims}.${signature}`, 'tokenMalformed'],
    ['other characters', `${head}.${claims}.${signature}=`, 'tokenMalformed'],
    ['too long', `${head}.${claims}${'A'.repeat(4_096)}.${signature}`, 'tokenMalformed'],
    ['no kid', await sign({}, { kid: undefined }), 'tokenMalformed'],
    ['kid of the wrong form', await sign({}, { kid: `${key.id}0` }), 'tokenMalformed'],
    ['unknown kid', await sign({}, { kid: '000000000001' }), 'tokenForged'],
    ['a key without signers', await sign({}, { kid: other }), 'tokenForged'],
    ['another private key', await sign({}, {}, pair().privateKey), 'tokenForged'],
    ['another secret', await sign({}, { alg: 'HS256' }, randomBytes(32)), 'tokenForged'],
    [
      'the signature of other claims',
      `${head}.${(await sign({ a: 1 })).split('.')[1]}.${signature}`,
      'tokenForged',
    ],
    ['no exp', await sign({ exp: undefined }), 'tokenLasting'],
    ['an exp far ahead', await sign({ exp: seconds(Date.now() + 62 * minuteMs) }), 'tokenLasting'],
    ['an exp that is over', await sign({ exp: seconds(Date.now() - 1_000) }), 'tokenExpired'],
    ['not valid yet', await sign({ exp: seconds(soon), nbf: seconds(soon) }), 'tokenExpired'],
    ...(await Promise.all(
      ['0', null, [], false].map(
        async (nbf) => [`nbf ${JSON.stringify(nbf)}`, await sign({ nbf }), 'tokenExpired'] as const,
      ),
    )),
  ]
  for (const [what, token, problem] of cases) t.equal(why(ring.authorize(token)), problem, what)
  t.equal(why(ring.authorize(good)), 'ok')
  const [head2 = '', claims2 = '', tag = ''] = (await sign({}, { alg: 'HS256' }, secret)).split('.')
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet[alphabet.indexOf(tag.at(-1) ?? '') + 1]
  const respelt = `${head2}.${claims2}.${tag.slice(0, -1)}${last}`
  t.equal(why(ring.authorize(respelt)), 'tokenMalformed', 'the same signature in another spelling')
  const critical = new SignJWT({ exp: seconds(soon) })
    .setProtectedHeader({ alg: 'ES256', kid: key.id, crit: ['x'], x: 1 } as never)
    .sign(privateKey, { crit: { x: true } })
  t.equal(why(ring.authorize(await critical)), 'tokenMalformed', 'a critical header that is not understood')
})

t.test('a public key is not taken for a secret', async (t) => {
  const { store, ring } = openRig(t)
  const { key } = createKey(store, ring.pepper, { name: 'shop' }, 'test')
  const { publicKey } = pair()
  addToken(store, 'shop', verifierOfPublicKey(pemOf(publicKey)), 'test')
  const token = await new SignJWT({ exp: seconds(Date.now() + minuteMs) })
    .setProtectedHeader({ alg: 'HS256', kid: key.id })
    .sign(Buffer.from(pemOf(publicKey)))
  t.equal(why(ring.authorize(token)), 'tokenForged')
})

t.test('audience and subject are compared where the signer has them', async (t) => {
  const { store, ring } = openRig(t)
  const { key } = createKey(store, ring.pepper, { name: 'shop' }, 'test')
  const verifier = verifierOfSecret(secret, ring.pepper)
  const { tokens } = addToken(store, 'shop', { ...verifier, audience: 'rpc', subject: 'ann' }, 'test')
  const check = async (claims: object) =>
    why(
      ring.authorize(
        await new SignJWT({ exp: seconds(Date.now() + minuteMs), ...claims })
          .setProtectedHeader({ alg: 'HS256', kid: key.id })
          .sign(secret),
      ),
    )
  t.equal(await check({ aud: 'rpc', sub: 'ann' }), 'ok')
  t.equal(await check({ aud: ['web', 'rpc'], sub: 'ann' }), 'ok')
  for (const claims of [{}, { aud: 'rpc' }, { sub: 'ann' }, { aud: ['web'], sub: 'ann' }]) {
    t.equal(await check(claims), 'tokenForOthers')
  }
  t.match(keyToJson(findKey(store, 'shop')).tokens, [
    { id: tokens[0]?.id, algorithm: 'HS256', audience: 'rpc', subject: 'ann' },
  ])
})

t.test('a signer that is removed, or whose key is revoked, ends its tokens', async (t) => {
  const { store, ring, sign, pass } = openSigned(t)
  const es = await sign()
  const hs = await sign({}, { alg: 'HS256' }, secret)
  for (const token of [es, hs]) t.equal(why(ring.authorize(token)), 'ok')
  const signer = findKey(store, 'shop').tokens.find(({ algorithm }) => algorithm === 'ES256')
  removeToken(store, 'shop', signer?.id ?? '', 'test')
  pass(250)
  t.strictSame(
    [es, hs].map((token) => why(ring.authorize(token))),
    ['tokenForged', 'ok'],
  )
  t.throws(() => removeToken(store, 'shop', signer?.id ?? '', 'test'), { name: 'OperatorError' })
  revokeKey(store, 'shop', 'test')
  pass(250)
  t.equal(why(ring.authorize(hs)), 'revoked')
})

t.test('who floods with ids of no key, or of keys without signers, keeps nobody out', async (t) => {
  const { ring, sign, store, setDate } = openSigned(t)
  setDate(Date.now())
  const { key } = createKey(store, ring.pepper, { name: 'unsigned' }, 'test')
  for (let time = 0; time < 1_000; time++) {
    const kid = time % 2 === 0 ? key.id : time.toString(16).padStart(12, '0')
    const check = why(ring.authorize(await sign({ a: time }, { kid, alg: 'HS256' }, secret)))
    if (check !== 'tokenForged') t.fail(`${time}: ${check}`)
  }
  t.equal(why(ring.authorize(await sign())), 'ok')
})

t.test('forged tokens of a key are checked only so often in a second, and other keys go on', async (t) => {
  const { ring, sign, store, setDate } = openSigned(t)
  const other = createKey(store, ring.pepper, { name: 'other' }, 'test').key.id
  addToken(store, 'other', verifierOfSecret(secret, ring.pepper), 'test')
  const ofOther = await sign({}, { alg: 'HS256', kid: other }, secret)
  const nowMs = Date.now()
  setDate(nowMs)
  const known = await sign({ a: 1 })
  const unknown = await sign({ a: 2 })
  const forged = await sign({}, {}, pair().privateKey)
  t.equal(why(ring.authorize(known)), 'ok')
  for (let time = 0; time < 200; time++) {
    if (why(ring.authorize(forged)) !== 'tokenForged') t.fail(`not checked: ${time}`)
  }
  t.strictSame(
    [forged, unknown, known, ofOther].map((token) => why(ring.authorize(token))),
    ['tokenFlood', 'tokenFlood', 'ok', 'ok'],
  )
  // A client that returns finds room, which the flood did not take earlier.
  setDate(nowMs + 5)
  t.equal(why(ring.authorize(unknown)), 'ok')
  t.strictSame(
    [forged, forged].map((token) => why(ring.authorize(token))),
    ['tokenForged', 'tokenFlood'],
  )
})

/** Senders of wrong tokens, and the addresses from which others send right ones. */
const floods = [
  { what: 'one address', attackers: ['198.51.100.1'], others: ['198.51.100.2', '2001:db8::1'] },
  {
    what: 'many addresses of one IPv6 network',
    attackers: Array.from({ length: 500 }, (_, at) => `2001:db8:0:1::${at.toString(16)}`),
    others: ['2001:db8:0:2::1', '2001:0db8:0000:0003:0000:0000:0000:0001', '2001:db8::1'],
  },
  {
    what: 'many addresses',
    attackers: Array.from({ length: 500 }, (_, at) => `10.0.${at >> 8}.${at & 255}`),
    others: ['10.1.0.1', '2001:db8::1'],
  },
]

for (const { what, attackers, others } of floods) {
  t.test(`a flood of wrong tokens from ${what} keeps nobody else out`, async (t) => {
    const { ring, sign, setDate } = openSigned(t)
    const forged = await sign({}, {}, pair().privateKey)
    const beginMs = Date.now()
    const seconds = 3
    let checked = 0
    const problems: string[] = []
    for (let ms = 0; ms < seconds * 1_000; ms++) {
      setDate(beginMs + ms)
      for (let time = 0; time < 3; time++) {
        const address = attackers[(ms * 3 + time) % attackers.length] as string
        if (why(ring.authorize(forged, { address })) === 'tokenForged') checked++
      }
      if (ms % 100 > 0) continue
      for (const address of others)
        problems.push(why(ring.authorize(await sign({ ms, address }), { address })))
    }
    t.strictSame([...new Set(problems)], ['ok'])
    const networks = what === 'many addresses' ? attackers.length : 1
    t.ok(checked <= 200 * (seconds + 1) + networks, `${checked} wrong ones were checked`)
    t.ok(checked >= 200 * seconds)
  })
}

t.test('a signer needs a public key of P-256, or a secret that is long enough', async (t) => {
  const { ring } = openRig(t)
  const { privateKey } = pair()
  const isPrivate = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  for (const pem of [isPrivate, 'hello', pemOf(pair('P-384').publicKey)]) {
    t.throws(() => verifierOfPublicKey(pem), { name: 'UsageError' })
  }
  t.throws(() => verifierOfSecret(randomBytes(31), ring.pepper), { name: 'UsageError' })
  const sealed = verifierOfSecret(secret, ring.pepper).material
  t.equal(Buffer.from(sealed).includes(secret), false)
  t.strictSame(Buffer.from(ring.pepper.unseal(sealed)), secret)
  t.throws(() => openRig(t, t.testdir()).ring.pepper.unseal(sealed), { name: 'OperatorError' })
})
