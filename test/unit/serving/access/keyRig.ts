/** A key ring over a store of its own, with a clock that tests move. */
import { join } from 'node:path'
import type { Test } from 'tap'
import { NodeStore } from '../../../../src/data/store/node/nodeStore.js'
import { type KeyCheck, KeyChecker } from '../../../../src/serving/access/keyChecker.js'

const mapBytes = 2 ** 30

export interface Rig {
  readonly dataDir: string
  readonly store: NodeStore
  readonly ring: KeyChecker
  readonly paths: { readonly pepper: string; readonly demoKey: string }
  /** Moves the ring's clock. */
  readonly pass: (ms: number) => void
  /** Sets the ring's date, which is the true one at first. */
  readonly setDate: (ms: number) => void
}

export function openRig(t: Test, dataDir = t.testdir()): Rig {
  const node = join(dataDir, 'node')
  const store = NodeStore.open({ path: join(node, 'node.mdb'), mapBytes })
  t.teardown(() => store.close())
  const paths = { pepper: join(node, 'pepper'), demoKey: join(node, 'demo-key') }
  let nowMs = 0
  let dateMs: number | undefined
  const ring = KeyChecker.open(store, paths, { clockMs: () => nowMs, dateMs: () => dateMs ?? Date.now() })
  return {
    dataDir,
    store,
    ring,
    paths,
    pass: (ms) => {
      nowMs += ms
    },
    setDate: (ms) => {
      dateMs = ms
    },
  }
}

export function why(authorization: KeyCheck): string {
  return authorization.ok ? 'ok' : authorization.why
}
