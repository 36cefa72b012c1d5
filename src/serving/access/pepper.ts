/** The secret for hashing keys: a private file beside the store of the keys. */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import type { NodeStore } from '../../data/store/node/nodeStore.js'
import { OperatorError } from '../../primitives/faults.js'
import { createPrivateFile, readPrivateFile } from './privateFile.js'

const pepperBytes = 32
const fingerprintText = 'tidegate: fingerprint of this pepper'
const sealKeyText = 'tidegate: key of sealed secrets'

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/** The shared keys were made with another pepper. */
export class OtherPepper extends OperatorError {}

export class Pepper {
  readonly #secret: KeyObject

  private constructor(secret: KeyObject) {
    this.#secret = secret
  }

  /**
   * Opens the pepper of a store, and makes it on first use. Throws OperatorError if it is missing although keys exist,
   * can be read by other users, is damaged, or is not the one of these keys.
   */
  static open(store: NodeStore, path: string): Pepper {
    const missing = `restore it from a backup, or remove ${store.path} as well to begin without keys`
    const pepper = Pepper.#readOrMake(path, store.hasKeys() ? missing : undefined)
    const stored = store.readPepperFingerprint()
    if (stored && Buffer.compare(stored, pepper.fingerprint) === 0) return pepper
    if (stored && store.hasKeys()) {
      throw new OperatorError(
        `the pepper ${path} is not the one that the API keys in ${store.path} were made with; restore both from the same backup`,
      )
    }
    store.writePepperFingerprint(pepper.fingerprint)
    return pepper
  }

  /**
   * The pepper of shared keys. `fingerprint` identifies the pepper with which they were made; undefined before there is one.
   * Throws as {@link open} does, and OtherPepper if the file has another pepper.
   */
  static openShared(fingerprint: Uint8Array | undefined, path: string): Pepper {
    const advice = 'copy the file of a process that shares these API keys, and start again'
    const pepper = Pepper.#readOrMake(path, fingerprint && advice)
    if (fingerprint === undefined || Buffer.compare(fingerprint, pepper.fingerprint) === 0) return pepper
    throw new OtherPepper(
      `the pepper ${path} is not the one that the shared API keys were made with; ${advice}`,
    )
  }

  /** `missing`: advice for the operator if there is no file and none may be made. */
  static #readOrMake(path: string, missing: string | undefined): Pepper {
    let bytes = readPrivateFile(path)
    if (!bytes) {
      if (missing !== undefined) {
        throw new OperatorError(
          `the pepper ${path} is missing, and without it no API key can be checked; ${missing}`,
        )
      }
      createPrivateFile(path, randomBytes(pepperBytes))
      bytes = readPrivateFile(path)
    }
    if (bytes?.length !== pepperBytes) {
      throw new OperatorError(
        `the pepper ${path} is damaged: it must be ${pepperBytes} bytes long; restore it from a backup`,
      )
    }
    const pepper = new Pepper(createSecretKey(bytes))
    bytes.fill(0)
    return pepper
  }

  /** Identifies this pepper without revealing it. */
  get fingerprint(): Uint8Array {
    return this.digest(fingerprintText)
  }

  /** HMAC-SHA-256 of a text, 32 bytes. */
  digest(text: string): Uint8Array {
    return createHmac('sha256', this.#secret).update(text).digest()
  }

  /** Encrypts a secret for storage; only the pepper decrypts it. AES-256-GCM: nonce, ciphertext, tag. */
  seal(secret: Uint8Array): Uint8Array {
    const nonce = randomBytes(nonceBytes)
    const sealing = createCipheriv(cipher, this.digest(sealKeyText), nonce)
    return Buffer.concat([nonce, sealing.update(secret), sealing.final(), sealing.getAuthTag()])
  }

  /** Reverses {@link seal}. Throws OperatorError if the data was sealed with another pepper or is damaged. */
  unseal(sealed: Uint8Array): Uint8Array {
    try {
      const opening = createDecipheriv(cipher, this.digest(sealKeyText), sealed.subarray(0, nonceBytes))
      opening.setAuthTag(sealed.subarray(-tagBytes))
      return Buffer.concat([opening.update(sealed.subarray(nonceBytes, -tagBytes)), opening.final()])
    } catch {
      throw new OperatorError('a secret of the node store is damaged; restore the store and its pepper')
    }
  }
}
