/** The secret that keys are hashed with: a private file beside the store of the keys. */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { OperatorError } from '../primitives/faults.js'
import type { NodeStore } from '../store/nodeStore.js'
import { createPrivateFile, readPrivateFile } from './privateFile.js'

const pepperBytes = 32
const pepperMarkText = 'tidegate: mark of this pepper'
const sealKeyText = 'tidegate: key of sealed secrets'

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

export class Pepper {
  readonly #secret: KeyObject

  private constructor(secret: KeyObject) {
    this.#secret = secret
  }

  /**
   * Opens the pepper of a store, and makes it on first use. Throws OperatorError where it is missing although keys
   * exist, can be read by other users, is damaged, or is not the one the keys were made with.
   */
  static open(store: NodeStore, path: string): Pepper {
    let bytes = readPrivateFile(path)
    if (!bytes) {
      if (store.hasKeys()) {
        throw new OperatorError(
          `the pepper ${path} is missing, and without it no API key can be checked; restore it from a backup, or remove ${store.path} as well to begin without keys`,
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
    const mark = pepper.digest(pepperMarkText)
    const stored = store.readPepperMark()
    if (!stored || Buffer.compare(stored, mark) !== 0) {
      if (stored && store.hasKeys()) {
        throw new OperatorError(
          `the pepper ${path} is not the one that the API keys in ${store.path} were made with; restore both from the same backup`,
        )
      }
      store.writePepperMark(mark)
    }
    return pepper
  }

  /** HMAC-SHA-256 of a text, 32 bytes. */
  digest(text: string): Uint8Array {
    return createHmac('sha256', this.#secret).update(text).digest()
  }

  /** A secret as it may be stored: without the pepper it tells nothing. AES-256-GCM: nonce, ciphertext, tag. */
  seal(secret: Uint8Array): Uint8Array {
    const nonce = randomBytes(nonceBytes)
    const sealing = createCipheriv(cipher, this.digest(sealKeyText), nonce)
    return Buffer.concat([nonce, sealing.update(secret), sealing.final(), sealing.getAuthTag()])
  }

  /** What {@link seal} was given. Throws OperatorError where it was sealed with another pepper or is damaged. */
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
