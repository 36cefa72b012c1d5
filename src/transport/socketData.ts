import type { Allowed, KeyUse, Route } from './admission.js'

/** The network of a connection, its key, and what it showed when it was opened. */
export interface SocketData {
  readonly route: Route
  readonly use: KeyUse & { readonly pathKey: string | undefined }
  /** Undefined where no keys are needed. */
  readonly keyId: string | undefined
  readonly identity: Allowed
}
