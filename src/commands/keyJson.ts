import type { KeyRecord } from '../access/keyRing.js'
import type { Key } from '../admin/shapes.js'

/** A key as `tidegate keys list --json` and the admin API show it. */
export function keyToJson({ id, name, createdAtMs, revokedAtMs }: KeyRecord): Key {
  return {
    id,
    name,
    createdAt: new Date(createdAtMs).toISOString(),
    revokedAt: revokedAtMs === undefined ? null : new Date(revokedAtMs).toISOString(),
    state: revokedAtMs === undefined ? 'live' : 'revoked',
  }
}
