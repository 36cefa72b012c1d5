/** Limits of a JSON text of unknown origin. */
export interface JsonLimits {
  readonly charactersMax: number
  /** Nesting of lists and objects. */
  readonly depthMax: number
  /** Values of any type, nested ones included. */
  readonly valuesMax: number
}

/** A JSON text that exceeds a limit. */
export class JsonLimitError extends Error {
  constructor(
    readonly limit: keyof JsonLimits,
    readonly max: number,
  ) {
    super(`JSON above its limit ${limit} of ${max}`)
  }
}

/**
 * Parses JSON of unknown origin. For a text that exceeds a limit, throws JsonLimitError before any value is built;
 * throws SyntaxError for invalid JSON.
 */
export function parseBoundedJson(text: string, limits: JsonLimits): unknown {
  const { charactersMax, depthMax, valuesMax } = limits
  if (text.length > charactersMax) throw new JsonLimitError('charactersMax', charactersMax)
  let depth = 0
  // Each value but the first of a list or object follows a comma.
  let values = 1
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfText(text, at)
    else if (code === openList || code === openObject) {
      values++
      if (++depth > depthMax) throw new JsonLimitError('depthMax', depthMax)
    } else if (code === closeList || code === closeObject) depth--
    else if (code === comma) values++
    if (values > valuesMax) throw new JsonLimitError('valuesMax', valuesMax)
  }
  return JSON.parse(text)
}

/** The position of the quote that ends the string which begins at `start`; the end of the text if there is none. */
function endOfText(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) return at
    if (code === backslash) at++
  }
  return text.length
}

const quote = 0x22
const comma = 0x2c
const openList = 0x5b
const backslash = 0x5c
const closeList = 0x5d
const openObject = 0x7b
const closeObject = 0x7d
