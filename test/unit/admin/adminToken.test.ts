import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readAdminToken, TokenGate } from '../../../src/admin/adminToken.js'

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

t.test('an address that guesses is locked out for a minute, even with the right token', async (t) => {
  let nowMs = 5_000
  const gate = new TokenGate('a'.repeat(32), () => nowMs)
  const right = `Bearer ${'a'.repeat(32)}`
  t.equal(gate.admit('10.0.0.1', undefined), 'no', 'a request without a token is no guess')
  t.equal(gate.admit('10.0.0.1', right), 'yes')
  for (let guess = 0; guess < 10; guess++) t.equal(gate.admit('10.0.0.1', `Bearer ${guess}`), 'no')
  t.strictSame(gate.admit('10.0.0.1', right), { lockedMs: 60_000 })
  t.equal(gate.admit('10.0.0.2', right), 'yes', 'another address is not')
  nowMs += 59_999
  t.strictSame(gate.admit('10.0.0.1', right), { lockedMs: 1 })
  nowMs += 1
  t.equal(gate.admit('10.0.0.1', right), 'yes')
})

t.test('mistakes are forgotten after a minute', async (t) => {
  let nowMs = 0
  const gate = new TokenGate('b'.repeat(32), () => nowMs)
  for (let guess = 0; guess < 100; guess++) {
    t.equal(gate.admit('::1', 'Bearer no'), 'no')
    nowMs += 60_000
  }
})

t.test('only a bearer token counts', async (t) => {
  const token = 'c'.repeat(32)
  const gate = new TokenGate(token)
  for (const header of [token, `Basic ${token}`, `Bearer ${token}x`, `Bearer x ${token}`, 'Bearer ', '']) {
    t.equal(gate.admit(header, header), 'no', header)
  }
  t.equal(gate.admit('1', `bearer ${token}`), 'yes', 'the scheme in any case')
})
