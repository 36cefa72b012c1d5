/**
 * Tokens of consensus clients (execution-apis, src/engine/authentication.md): JSON Web Tokens that both sides sign with
 * one secret. Owns the secret's file, and which tokens are right.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { digitsToBytes, hexDigits } from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import { isObject } from '../../../primitives/jsonType.js'
import { createPrivateFile, readPrivateFile } from '../../../serving/access/privateFile.js'

const secretBytes = 32
/** Longest time between the clocks of both sides, either way; the specification's. */
const iatSecondsMax = 60

/** The secret of a file that the operator names. Throws OperatorError. */
export function readSecret(path: string): Uint8Array {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new OperatorError(`cannot read the secret of the consensus client: ${(error as Error).message}`)
  }
  return secretOf(text, path)
}

/** The secret of a private file, which is made with a new one if it is missing. Throws OperatorError. */
export function readOwnSecret(path: string): Uint8Array {
  createPrivateFile(path, Buffer.from(hexDigits(randomBytes(secretBytes))))
  return secretOf(readPrivateFile(path)?.toString('utf8') ?? '', path)
}

function secretOf(text: string, path: string): Uint8Array {
  const secret = digitsToBytes(text.trim().replace(/^0x/i, ''))
  if (secret?.length === secretBytes) return secret
  throw new OperatorError(
    `the file ${path} has no secret of ${secretBytes} bytes in hex; make one: openssl rand -hex 32`,
  )
}

/** Why a request is refused, as a sentence; undefined for a right token. `nowSeconds`: unix time. */
export function whyRefused(
  authorization: string | undefined,
  secret: Uint8Array,
  nowSeconds: number,
): string | undefined {
  const [, token] = /^bearer +(\S+)$/i.exec(authorization ?? '') ?? []
  if (token === undefined) return 'missing token: Authorization: Bearer TOKEN'
  const [head = '', claims = '', signature = '', ...others] = token.split('.')
  if (signature === '' || others.length > 0) return 'the token has not three parts'
  // Another algorithm is refused before its signature is looked at: "none" has no signature.
  if (readPart(head)?.alg !== 'HS256') return 'the token is not signed with HS256'
  const wanted = createHmac('sha256', secret).update(`${head}.${claims}`).digest()
  const given = Buffer.from(signature, 'base64url')
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted))
    return 'the signature of the token is wrong'
  const { iat, exp } = readPart(claims) ?? {}
  if (typeof iat !== 'number') return 'the token has no time (iat)'
  if (Math.abs(nowSeconds - iat) > iatSecondsMax)
    return `the token is of another time (iat): ${Math.round(nowSeconds - iat)} s ago, and ${iatSecondsMax} s are allowed; compare the clocks`
  if (typeof exp === 'number' && exp < nowSeconds) return 'the token is expired'
  return undefined
}

function readPart(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const json: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return isObject(json) ? json : undefined
  } catch {
    return undefined
  }
}
