import { join } from 'node:path'
import { Packr } from 'msgpackr'
import t, { type Test } from 'tap'
import { openEnvironment, openTable, type Table } from '../../../../src/data/store/lmdb/environment.js'
import type { AuditLog } from '../../../../src/data/store/node/audit.js'
import { NodeStore } from '../../../../src/data/store/node/nodeStore.js'
import { createKey, revokeKey, rotateKey, setKey } from '../../../../src/serving/access/keyChanges.js'
import { parseKeySettings } from '../../../../src/serving/access/keySettings.js'
import { Pepper } from '../../../../src/serving/access/pepper.js'

const mapBytes = 2 ** 30
const packr = new Packr({ useRecords: false })

function open(t: Test) {
  const folder = t.testdir()
  const path = join(folder, 'node.mdb')
  const store = NodeStore.open({ path, mapBytes })
  const pepper = Pepper.open(store, join(folder, 'pepper'))
  return { path, store, pepper, audit: store.audit as AuditLog }
}

/** Changes the table like an attacker with the file, and returns the findings of `verify`. */
async function verifyAfter(path: string, tamper: (audit: Table, meta: Table) => void): Promise<string> {
  const environment = openEnvironment({ path, readOnly: false, mapBytes })
  tamper(openTable(environment, 'audit') as Table, openTable(environment, 'meta') as Table)
  await environment.close()
  const store = NodeStore.open({ path, readOnly: true, mapBytes })
  const { fault } = (store.audit as AuditLog).verify()
  await store.close()
  return fault ?? 'whole'
}

function keyOf(sequence: number): Buffer {
  const key = Buffer.alloc(8)
  key.writeBigUInt64BE(BigInt(sequence))
  return key
}

t.test('each change of a key is an entry, with its id and without its secrets', async (t) => {
  const { store, pepper, audit } = open(t)
  t.teardown(() => store.close())
  const settings = parseKeySettings({ name: 'explorer', limits: { sockets: 3 } })
  const made = createKey(store, pepper, settings, 'cli:ann')
  setKey(store, made.key.id, parseKeySettings({ scopes: { methods: ['eth_*'] } }), 'admin:127.0.0.1')
  const rotated = rotateKey(store, pepper, made.key.id, 3_600_000, 'cli:ann')
  revokeKey(store, made.key.id, 'cli:bob')
  revokeKey(store, made.key.id, 'cli:bob')
  const entries = [...audit.read()]
  t.match(entries, [
    { sequence: 1, actor: 'cli:ann', action: 'key created', keyId: made.key.id, detail: 'name, sockets' },
    { sequence: 2, actor: 'admin:127.0.0.1', action: 'key changed', keyId: made.key.id, detail: 'methods' },
    { sequence: 3, action: 'key rotated', detail: /^earlier secret until 20/ },
    { sequence: 4, actor: 'cli:bob', action: 'key revoked' },
  ])
  t.equal(entries.length, 4, 'what changes nothing is no entry')
  const text = JSON.stringify(entries)
  for (const secret of [made.text, rotated.text]) {
    for (let at = 3; at + 8 <= secret.length; at++) t.notOk(text.includes(secret.slice(at, at + 8)))
  }
  t.notOk(text.includes('explorer'), 'nor its name')
})

t.test('a change that is refused is no entry', async (t) => {
  const { store, pepper, audit } = open(t)
  t.teardown(() => store.close())
  createKey(store, pepper, parseKeySettings({ name: 'one' }), 'cli')
  t.throws(() => createKey(store, pepper, parseKeySettings({ name: 'one' }), 'cli'))
  t.equal(audit.last, 1)
})

t.test('notes of a server and changes of keys are one chain, also when they come at once', async (t) => {
  const { path, store, pepper, audit } = open(t)
  const noted: Promise<void>[] = []
  for (let round = 0; round < 20; round++) {
    const note = { atMs: round, actor: 'admin:::1', action: 'log-in failed', keyId: undefined } as const
    noted.push(store.note({ ...note, detail: `${round}` }))
    createKey(store, pepper, parseKeySettings({ name: `key ${round}` }), 'cli')
    if (round % 3 === 0) await noted.at(-1)
  }
  await Promise.all(noted)
  const { entries, hash, fault } = audit.verify()
  t.strictSame([entries, fault], [40, undefined])
  t.equal(audit.verify(hash).fault, undefined)
  t.equal(audit.verify('00'.repeat(32)).fault, 'no entry has the hash that was given')
  await store.close()
  const again = NodeStore.open({ path, mapBytes })
  await again.note({
    atMs: 1,
    actor: 'serve',
    action: 'configuration reloaded',
    keyId: undefined,
    detail: '',
  })
  t.strictSame([again.audit?.verify().entries, again.audit?.verify(hash).fault], [41, undefined])
  t.match([...(again.audit?.read(41) ?? [])], [{ sequence: 41, action: 'configuration reloaded' }])
  await again.close()
})

t.test('every change of an entry, of any byte, is found', async (t) => {
  const { path, store, pepper } = open(t)
  for (const name of ['one', 'two', 'three']) createKey(store, pepper, parseKeySettings({ name }), 'cli:ann')
  await store.close()
  t.equal(await verifyAfter(path, () => undefined), 'whole')
  const environment = openEnvironment({ path, readOnly: false, mapBytes })
  const audit = openTable(environment, 'audit') as Table
  const log = () => {
    const reader = NodeStore.open({ path, readOnly: true, mapBytes })
    return reader
  }
  const length = audit.get(keyOf(2))?.length ?? 0
  t.ok(length > 60)
  for (let at = 0; at < length; at++) {
    const whole = Buffer.from(audit.get(keyOf(2)) as Uint8Array)
    const changed = Buffer.from(whole)
    changed[at] = (changed[at] as number) ^ 1
    audit.putSync(keyOf(2), changed)
    const reader = log()
    let found: string | undefined
    try {
      found = reader.audit?.verify().fault
    } catch (error) {
      found = String(error)
    }
    await reader.close()
    t.match(found, /entry 2/, `byte ${at}`)
    audit.putSync(keyOf(2), whole)
  }
  await environment.close()
  t.equal(await verifyAfter(path, () => undefined), 'whole')
})

t.test('a removed, reordered or forged entry is found', async (t) => {
  const fresh = async (t: Test) => {
    const { path, store, pepper } = open(t)
    for (let index = 1; index <= 5; index++) {
      createKey(store, pepper, parseKeySettings({ name: `key ${index}` }), 'cli')
    }
    await store.close()
    return path
  }
  for (const gone of [1, 2, 3, 4]) {
    await t.test(`entry ${gone} is removed`, async (t) => {
      t.equal(
        await verifyAfter(await fresh(t), (audit) => audit.removeSync(keyOf(gone))),
        `entry ${gone} is missing`,
      )
    })
  }
  await t.test('the newest is removed', async (t) => {
    const found = await verifyAfter(await fresh(t), (audit) => audit.removeSync(keyOf(5)))
    t.equal(found, 'entries 5 to 5 are missing at the end')
  })
  await t.test('two change places', async (t) => {
    const found = await verifyAfter(await fresh(t), (audit) => {
      const [second, third] = [2, 3].map((at) => Buffer.from(audit.get(keyOf(at)) as Uint8Array))
      audit.putSync(keyOf(2), third as Buffer)
      audit.putSync(keyOf(3), second as Buffer)
    })
    t.equal(found, 'entry 2 is not the one that was written after entry 1')
  })
  await t.test('one is removed and the others move up', async (t) => {
    const found = await verifyAfter(await fresh(t), (audit) => {
      for (let at = 3; at < 5; at++)
        audit.putSync(keyOf(at), Buffer.from(audit.get(keyOf(at + 1)) as Uint8Array))
      audit.removeSync(keyOf(5))
    })
    t.equal(found, 'entry 3 is not the one that was written after entry 2')
  })
  await t.test('one is added at the end', async (t) => {
    const found = await verifyAfter(await fresh(t), (audit) => {
      const row = packr.pack([1, 'cli', 'key created', '0'.repeat(12), '', new Uint8Array(32)])
      audit.putSync(keyOf(6), row)
    })
    t.equal(found, 'entry 6 is not the one that was written after entry 5')
  })
  await t.test('the end is cut off, and the head with it', async (t) => {
    const path = await fresh(t)
    const before = NodeStore.open({ path, readOnly: true, mapBytes })
    const { hash } = (before.audit as AuditLog).verify()
    const fourth = [...(before.audit as AuditLog).read(4, 1)][0]
    await before.close()
    const found = await verifyAfter(path, (audit, meta) => {
      audit.removeSync(keyOf(5))
      const head = [4, Buffer.from(fourth?.hash ?? '', 'hex')]
      meta.putSync(Buffer.from('auditHead'), packr.pack(head))
    })
    t.equal(found, 'whole', 'by itself the rest is whole')
    const store = NodeStore.open({ path, readOnly: true, mapBytes })
    t.equal(store.audit?.verify(hash).fault, 'no entry has the hash that was given')
    await store.close()
  })
})
