import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readAdminToken, TokenGate } from '../../../../src/operation/admin/adminToken.js'

t.test('the first start makes a token that only its owner can read, and later ones read it', async (t) => {
  const path = join(t.testdir(), 'admin-token')
  const token = readAdminToken(path)
  t.match(token, /^[0-9a-f]{64}$/)
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(readAdminToken(path), token)
  t.equal(readFileSync(path, 'latin1'), token)
})

t.test('a token that others can read, or that can be guessed, is refused', async (t) => {
  const path = join(t.testdir(), 'admin-token')
  readAdminToken(path)
  chmodSync(path, 0o644)
  t.throws(() => readAdminToken(path), { message: /chmod 600/ })
  chmodSync(path, 0o600)
  writeFileSync(path, 'secret\n')
  t.throws(() => readAdminToken(path), { message: /at least 32/ })
})

t.test('wrong tokens are answered late, some at a time, and the right one at once', async (t) => {
  const ends: (() => void)[] = []
  const gate = new TokenGate('a'.repeat(32), (end) => ends.push(end))
  const late = Array.from({ length: 10 }, () => gate.delayWrong())
  t.equal(ends.length, 10)
  t.equal(await gate.delayWrong(), false, 'more are not kept')
  t.equal(gate.admits(`Bearer ${'a'.repeat(32)}`), true)
  ends.shift()?.()
  t.equal(await late[0], true)
  late.push(gate.delayWrong())
  for (const end of ends) end()
  t.strictSame(await Promise.all(late), Array(11).fill(true))
})

t.test('only a bearer token counts', async (t) => {
  const token = 'c'.repeat(32)
  const gate = new TokenGate(token)
  for (const header of [token, `Basic ${token}`, `Bearer ${token}x`, `Bearer x ${token}`, 'Bearer ', '']) {
    t.equal(gate.admits(header), false, header)
  }
  t.equal(gate.admits(undefined), false)
  t.equal(gate.admits(`bearer ${token}`), true, 'the scheme in any case')
})
