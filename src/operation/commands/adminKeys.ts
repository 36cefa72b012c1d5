import {
  createKey,
  findKey,
  listKeys,
  revokeKey,
  rotateKey,
  setKey,
} from '../../serving/access/keyChanges.js'
import type { KeyChecker } from '../../serving/access/keyChecker.js'
import { keyToJson } from '../../serving/access/keyRecord.js'
import type { KeyRepository } from '../../serving/access/keyRepository.js'
import type { ApiServices } from '../admin/routes.js'

/** Who acts over the admin listener from this address, as keys and the audit log name them. */
export function adminActor(address: string): string {
  return `admin:${address}`
}

/** API keys as the admin API shows and changes them. */
export function openAdminKeys(
  book: KeyRepository,
  { pepper }: KeyChecker,
): Pick<ApiServices, 'readKeys' | 'createKey' | 'setKey' | 'rotateKey' | 'revokeKey'> {
  return {
    readKeys: () => listKeys(book.store).map(keyToJson),
    async createKey(settings, address) {
      const { key, text } = await book.change((keys) =>
        createKey(keys, pepper, settings, adminActor(address)),
      )
      return { key: keyToJson(key), text }
    },
    setKey: async (id, settings, address) =>
      keyToJson(await book.change((keys) => setKey(keys, id, settings, adminActor(address)))),
    async rotateKey(id, { overlapSeconds }, address) {
      const { key, text } = await book.change((keys) =>
        rotateKey(keys, pepper, id, overlapSeconds * 1_000, adminActor(address)),
      )
      return { key: keyToJson(key), text }
    },
    async revokeKey(id, address) {
      await book.change((keys) => revokeKey(keys, id, adminActor(address)))
      return keyToJson(findKey(book.store, id))
    },
  }
}
