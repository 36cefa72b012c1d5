/**
 * Paths to variables, such as `books[42].title` or `allowance[0x…][0x…]`: a name, then members and keys. Owns the
 * notation; readVariable.ts finds names and keys in a layout.
 */

/** A path that is invalid or leads nowhere. `message` is one sentence with the expected form. */
export class VariableError extends Error {
  override readonly name = 'VariableError'
}

export interface MemberStep {
  readonly kind: 'member'
  readonly name: string
  /** The path up to the end of this step, for error messages. */
  readonly path: string
}

export interface KeyStep {
  readonly kind: 'key'
  /** The key as written between the brackets, or the text between the quotes. */
  readonly key: string
  readonly isQuoted: boolean
  readonly path: string
}

export type PathStep = MemberStep | KeyStep

/** Longest path in characters: 16 keys of 32 bytes take 1,100; text keys may be longer. */
const pathLengthMax = 10_000

/**
 * Parses a path. The first step is the variable's name. Keys are in brackets. A key is a decimal or hex number, hex
 * bytes, `true` or `false`, or text in double quotes with JSON's escapes. Throws VariableError.
 */
export function parseVariablePath(text: string): readonly [MemberStep, ...PathStep[]] {
  if (text.length > pathLengthMax) {
    throw new VariableError(`the path has ${text.length} characters, at most ${pathLengthMax} are read`)
  }
  const name = namePattern.exec(text)?.[0]
  if (name === undefined) {
    throw new VariableError(
      'a path begins with the name of a variable, as in balanceOf[0x…] or books[42].title',
    )
  }
  const steps: [MemberStep, ...PathStep[]] = [{ kind: 'member', name, path: name }]
  for (let at = name.length; at < text.length; ) {
    const [step, end] = text[at] === '[' ? keyStep(text, at) : memberStep(text, at)
    steps.push(step)
    at = end
  }
  return steps
}

const namePattern = /^[A-Za-z_$][A-Za-z0-9_$]*/

function memberStep(text: string, at: number): [MemberStep, number] {
  const name = text[at] === '.' ? namePattern.exec(text.slice(at + 1))?.[0] : undefined
  if (name === undefined) {
    const found = JSON.stringify(text.slice(at, at + 20))
    throw new VariableError(
      `after ${brief(text.slice(0, at))} a member (.name) or a key ([key]) may follow, not ${found}`,
    )
  }
  const end = at + 1 + name.length
  return [{ kind: 'member', name, path: text.slice(0, end) }, end]
}

/** A key with its brackets, quoted or not. */
const keyPattern = /\[[ \t]*(?:("(?:[^"\\]|\\.)*")|([^\]"[]*?))[ \t]*\]/y

function keyStep(text: string, at: number): [KeyStep, number] {
  keyPattern.lastIndex = at
  const match = keyPattern.exec(text)
  const where = brief(text.slice(0, at))
  if (match === null) {
    const found = JSON.stringify(text.slice(at, at + 20))
    throw new VariableError(
      `the key after ${where} does not end with "]" (text keys stand in double quotes): ${found}`,
    )
  }
  const [whole, quoted, plain = ''] = match
  if (quoted === undefined && plain === '') throw new VariableError(`the key after ${where} is empty`)
  const key = quoted === undefined ? plain : unquote(quoted, where)
  const end = at + whole.length
  return [{ kind: 'key', key, isQuoted: quoted !== undefined, path: text.slice(0, end) }, end]
}

function unquote(quoted: string, where: string): string {
  try {
    return JSON.parse(quoted) as string
  } catch {
    throw new VariableError(
      `the text key after ${where} is not written as JSON writes text: ${brief(quoted)}`,
    )
  }
}

export function brief(text: string): string {
  return text.length > 120 ? `${text.slice(0, 60)}…${text.slice(-59)}` : text
}
