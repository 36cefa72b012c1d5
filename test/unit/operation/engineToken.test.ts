/** Tokens of consensus clients, and the file of their secret. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readOwnSecret, readSecret, whyRefused } from '../../../src/operation/process/engine/engineToken.js'
import { tokenOf } from '../../library/engineToken.js'
import { makeFolder, writeInto } from '../../library/folder.js'

const secret = new Uint8Array(32).fill(7)
const now = 1_800_000_000
const refused = (authorization: string | undefined) => whyRefused(authorization, secret, now)

t.test('a token of the specification is right for 60 s, either side', async (t) => {
  for (const iat of [now, now - 60, now + 60])
    t.equal(refused(`Bearer ${tokenOf(secret, { iat })}`), undefined)
  t.equal(
    refused(`bearer ${tokenOf(secret, { iat: now, id: 'x', clv: 'y' })}`),
    undefined,
    'other claims are ignored',
  )
  for (const iat of [now - 61, now + 61])
    t.match(refused(`Bearer ${tokenOf(secret, { iat })}`), /of another time/)
})

t.test('every other token is refused with a reason', async (t) => {
  const right = tokenOf(secret, { iat: now })
  const [head, claims] = right.split('.')
  const cases: readonly (readonly [string | undefined, RegExp])[] = [
    [undefined, /missing token/],
    ['', /missing token/],
    [`Basic ${right}`, /missing token/],
    [right, /missing token/],
    ['Bearer abc', /three parts/],
    [`Bearer ${right}.x`, /three parts/],
    [`Bearer ${head}.${claims}.`, /three parts/],
    ['Bearer a.b.c', /not signed with HS256/],
    [`Bearer ${tokenOf(secret, { iat: now }, 'none')}`, /not signed with HS256/],
    [`Bearer ${tokenOf(secret, { iat: now }, 'HS512')}`, /not signed with HS256/],
    [`Bearer ${tokenOf(new Uint8Array(32), { iat: now })}`, /signature/],
    [`Bearer ${right}A`, /signature/],
    [`Bearer ${tokenOf(secret, {})}`, /no time/],
    [`Bearer ${tokenOf(secret, { iat: String(now) })}`, /no time/],
    [`Bearer ${tokenOf(secret, { iat: now, exp: now - 1 })}`, /expired/],
  ]
  for (const [authorization, why] of cases) t.match(refused(authorization), why, String(authorization))
})

t.test('a secret is 32 bytes of hex; one of our own is made once, and is private', async (t) => {
  const folder = makeFolder(t)
  const digits = '0123456789abcdef'.repeat(4)
  for (const text of [digits, `0x${digits}`, `${digits}\n`])
    t.equal(Buffer.from(readSecret(writeInto(folder, 'jwt.hex', text))).toString('hex'), digits)
  for (const text of ['', digits.slice(2), `${digits}00`, 'z'.repeat(64)])
    t.throws(() => readSecret(writeInto(folder, 'jwt.hex', text)), {
      name: 'OperatorError',
      message: /no secret of 32/,
    })
  t.throws(() => readSecret(join(folder, 'none')), { name: 'OperatorError', message: /cannot read/ })
  const own = join(folder, 'own.hex')
  const made = readOwnSecret(own)
  t.strictSame(readOwnSecret(own), made)
  if (process.platform !== 'win32') t.equal(statSync(own).mode & 0o777, 0o600)
})
