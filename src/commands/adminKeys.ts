import { createKey, findKey, listKeys, revokeKey, rotateKey, setKey } from '../access/keyChanges.js'
import { keyToJson } from '../access/keyRecord.js'
import type { KeyRing } from '../access/keyRing.js'
import type { ApiServices } from '../admin/routes.js'
import type { NodeStore } from '../store/nodeStore.js'

/** Who made a change, as keys keep it. */
const actor = 'admin'

/** API keys as the admin API shows and changes them. */
export function openAdminKeys(
  store: NodeStore,
  { pepper }: KeyRing,
): Pick<ApiServices, 'readKeys' | 'createKey' | 'setKey' | 'rotateKey' | 'revokeKey'> {
  return {
    readKeys: () => listKeys(store).map(keyToJson),
    createKey(settings) {
      const { key, text } = createKey(store, pepper, settings, actor)
      return { key: keyToJson(key), text }
    },
    setKey: (id, settings) => keyToJson(setKey(store, id, settings, actor)),
    rotateKey(id, { overlapSeconds }) {
      const { key, text } = rotateKey(store, pepper, id, overlapSeconds * 1_000, actor)
      return { key: keyToJson(key), text }
    },
    revokeKey(id) {
      revokeKey(store, id, actor)
      return keyToJson(findKey(store, id))
    },
  }
}
