import { join } from 'node:path'
import type { Test } from 'tap'
import { NodeStore } from '../../../../src/data/store/node/nodeStore.js'
import { Allowances } from '../../../../src/serving/access/allowances.js'
import { createKey, setKey } from '../../../../src/serving/access/keyChanges.js'
import { KeyChecker, keyProblemTexts } from '../../../../src/serving/access/keyChecker.js'
import { parseKeySettings } from '../../../../src/serving/access/keySettings.js'
import { Meter } from '../../../../src/serving/access/meter.js'
import { withSocketServer } from '../../../unit/serving/transport/socketServer.js'

/** A server with a real key ring; `make` makes a key named `shop`, and `set` changes it. */
export async function withKeyedServer(t: Test) {
  const folder = t.testdir()
  const store = NodeStore.open({ path: join(folder, 'node.mdb'), mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  const paths = { pepper: join(folder, 'pepper'), demoKey: join(folder, 'demo-key') }
  const date = { ms: Date.now() }
  const clock = { ms: 5_000 }
  const allowances = new Allowances(new Meter(undefined, () => clock.ms))
  const ring = KeyChecker.open(store, paths, { allowances, dateMs: () => date.ms })
  let seen = ring.readChanges(0).generation
  const server = await withSocketServer(
    t,
    {},
    {
      dateMs: () => date.ms,
      authorize(key) {
        const result = ring.authorize(key)
        if (result.ok) return result
        const reason = keyProblemTexts[result.why].replace('unauthorized: ', '')
        return { ok: false, reason, keyId: result.keyId }
      },
      changedKeys() {
        const { generation, ids } = ring.readChanges(seen)
        seen = generation
        return ids
      },
    },
  )
  const make = (settings: object) =>
    createKey(store, ring.pepper, parseKeySettings({ name: 'shop', ...settings }), 'test').text
  const set = (settings: object) => setKey(store, 'shop', parseKeySettings(settings), 'test')
  return { ...server, store, ring, date, clock, make, set }
}
