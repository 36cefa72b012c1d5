/**
 * The text of an API key: `tg_`, 43 characters of base 62, and 6 characters of base 62. The 43 encode 32 random bytes,
 * the 6 the CRC-32 of everything before them.
 *
 *   tg_ 0uVvqMY0HcPzKxDqWNgjiE6ZbTHmhVk1pXUsRrW2fQe 1pQw9A
 *       256 random bits                             checksum
 *
 * Letters, digits and `_` only, so that a key needs no escapes in a path and a double click selects all of it. The
 * prefix lets scanners of leaked secrets find it. The checksum is no secret. It distinguishes a mistyped or cut key
 * from an unknown one without reading the store. It detects every change within 32 neighbouring bits.
 */
import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { redactUrls } from '../../primitives/urls.js'

const prefix = 'tg_'
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** ⌈256 / log2 62⌉ */
const secretChars = 43
/** ⌈32 / log2 62⌉ */
const checksumChars = 6
export const keyTextChars = prefix.length + secretChars + checksumChars

const shape = /^tg_[0-9A-Za-z]{49}$/
const shapeAnywhere = /tg_[0-9A-Za-z]{8,}/g
/** A JSON Web Token: its header is an object, so it begins with `{"` in base64. */
const tokenAnywhere = /eyJ[\w-]{8,}(?:\.[\w-]+)*/g

export function makeKeyText(): string {
  const secret = BigInt(`0x${randomBytes(32).toString('hex')}`)
  const start = prefix + toBase62(secret, secretChars)
  return start + checksum(start)
}

/** Whether `text` has the shape of a key and its checksum is right. */
export function isKeyText(text: string): boolean {
  if (text.length !== keyTextChars || !shape.test(text)) return false
  const start = text.slice(0, -checksumChars)
  return text.endsWith(checksum(start))
}

/** Whether the text contains a key, perhaps a cut one, where another value was expected. */
export function looksLikeKey(text: string): boolean {
  return text.search(shapeAnywhere) !== -1
}

/**
 * `text` without secrets, for logs and error messages. Keys and tokens are cut to their prefix, URLs to their scheme
 * and host.
 */
export function redactText(text: string): string {
  return redactUrls(text.replace(shapeAnywhere, `${prefix}…`).replace(tokenAnywhere, 'eyJ…'))
}

function checksum(start: string): string {
  return toBase62(BigInt(crc32(start)), checksumChars)
}

function toBase62(value: bigint, chars: number): string {
  let text = ''
  for (let rest = value; text.length < chars; rest /= 62n) text = alphabet[Number(rest % 62n)] + text
  return text
}
