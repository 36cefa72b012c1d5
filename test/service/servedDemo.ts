/** The program on a copy of the demo chain, with additional settings. */
import { join } from 'node:path'
import type { Test } from 'tap'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { makeFolder } from '../library/folder.js'
import { copyDemoStore, writeConfig } from './program.js'
import { type Service, startService } from './service.js'

/** Members of the configuration besides the data folder and the network. */
export interface DemoSettings {
  /** Members of the network `demo`. */
  readonly demo?: object
  /** Further networks. */
  readonly networks?: readonly object[]
  readonly [setting: string]: unknown
}

export interface DemoCopy {
  readonly folder: string
  readonly dataDir: string
  /** Path of the store. */
  readonly store: string
  /** Path of the configuration. */
  readonly config: string
}

/** Copies the demo chain into a folder, which is removed when the test ends, and writes a configuration for it. */
export function copyDemo(t: Test, { demo, networks = [], ...settings }: DemoSettings = {}): DemoCopy {
  const folder = makeFolder(t)
  const dataDir = join(folder, 'data')
  const store = copyDemoStore(dataDir, 'demo')
  const network = { name: 'demo', genesis: join(packageRoot(), 'data/devnet/genesis.json'), ...demo }
  const content = { dataDir, networks: [network, ...networks], ...settings }
  return { folder, dataDir, store, config: writeConfig(folder, content) }
}

/** Serves such a copy; without keys unless `flags` set otherwise. Ends with the test. */
export async function serveDemo(
  t: Test,
  settings: DemoSettings = {},
  flags: readonly string[] = ['--no-auth'],
): Promise<DemoCopy & { readonly service: Service }> {
  const copy = copyDemo(t, settings)
  const service = await startService(['--config', copy.config, ...flags])
  t.teardown(() => service.stop())
  return { ...copy, service }
}
