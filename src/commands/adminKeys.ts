import { createKey, findKey, listKeys, revokeKey, rotateKey, setKey } from '../access/keyChanges.js'
import { keyToJson } from '../access/keyRecord.js'
import type { KeyRing } from '../access/keyRing.js'
import type { ApiServices } from '../admin/routes.js'
import type { NodeStore } from '../store/nodeStore.js'

/** Who acts over the admin listener from this address, as keys and the audit log name them. */
export function adminActor(address: string): string {
  return `admin:${address}`
}

/** API keys as the admin API shows and changes them. */
export function openAdminKeys(
  store: NodeStore,
  { pepper }: KeyRing,
): Pick<ApiServices, 'readKeys' | 'createKey' | 'setKey' | 'rotateKey' | 'revokeKey'> {
  return {
    readKeys: () => listKeys(store).map(keyToJson),
    createKey(settings, address) {
      const { key, text } = createKey(store, pepper, settings, adminActor(address))
      return { key: keyToJson(key), text }
    },
    setKey: (id, settings, address) => keyToJson(setKey(store, id, settings, adminActor(address))),
    rotateKey(id, { overlapSeconds }, address) {
      const { key, text } = rotateKey(store, pepper, id, overlapSeconds * 1_000, adminActor(address))
      return { key: keyToJson(key), text }
    },
    revokeKey(id, address) {
      revokeKey(store, id, adminActor(address))
      return keyToJson(findKey(store, id))
    },
  }
}
