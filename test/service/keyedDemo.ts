import { join } from 'node:path'
import type { Test } from 'tap'
import { NodeStore } from '../../src/data/store/node/nodeStore.js'
import { createKey } from '../../src/serving/access/keyChanges.js'
import { KeyChecker } from '../../src/serving/access/keyChecker.js'
import { copyDemo, type DemoSettings } from './servedDemo.js'
import { type Service, startService } from './service.js'

/** The program on a copy of the demo network, with a key for each name; `settings` are added to its configuration. */
export async function startKeyedDemo(
  t: Test,
  names: readonly string[],
  settings: DemoSettings,
): Promise<{ readonly service: Service; readonly keys: readonly string[] }> {
  const { dataDir, config } = copyDemo(t, settings)
  const keys = await createKeys(dataDir, names)
  return { service: await startService(['--config', config]), keys }
}

/** Creates a key for each name in a data folder, and returns them. */
export async function createKeys(dataDir: string, names: readonly string[]): Promise<readonly string[]> {
  const [path = '', pepper = '', demoKey = ''] = ['node.mdb', 'pepper', 'demo-key'].map((name) =>
    join(dataDir, 'node', name),
  )
  const store = NodeStore.open({ path })
  const ring = KeyChecker.open(store, { pepper, demoKey })
  const keys = names.map((name) => createKey(store, ring.pepper, { name }, 'test').text)
  await store.close()
  return keys
}
