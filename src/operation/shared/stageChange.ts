import type { KeyRow } from '../../data/store/keyRows.js'
import type { NodeStore } from '../../data/store/nodeStore.js'
import type { KeyStore } from '../../serving/access/keyRepository.js'

/** What a change makes of a key. */
interface Staged {
  readonly before: KeyRow | undefined
  readonly after: KeyRow
}

/** Does `work`, which may change one key, and writes nothing. `staged` is undefined where it changes nothing. */
export function stageChange<T>(
  store: NodeStore,
  work: (keys: KeyStore) => T,
): { readonly result: T; readonly staged: Staged | undefined } {
  let staged: Staged | undefined
  const stage = (before: KeyRow | undefined, after: KeyRow): void => {
    if (staged !== undefined) throw new Error('one change at a time')
    staged = { before, after }
  }
  const result = work({
    readKeys: () => store.readKeys(),
    readKeyByPrefix: (prefix) => store.readKeyByPrefix(prefix),
    readKeyByName: (name) => store.readKeyByName(name),
    writeKey(row, options) {
      const outcome = store.planKey(row, options)
      if (outcome === 'written') stage(undefined, row)
      return outcome
    },
    changeKey(digest, change) {
      const planned = store.planChange(digest, change)
      if (typeof planned === 'object' && planned.after !== planned.before) {
        stage(planned.before, planned.after)
      }
      return planned
    },
  })
  return { result, staged }
}
