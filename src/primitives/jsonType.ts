/** Whether a JSON value is an object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The type of a JSON value, for error messages. */
export function typeName(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/**
 * A JSON value as text, for messages. `String` throws for an object whose member `toString` is not a function, and for
 * a thousand nested lists.
 */
export function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  return Array.isArray(value) ? 'a list' : 'an object'
}

/** The first `charactersMax` characters of a text, with `…` if it has more; for error messages. */
export function excerpt(text: string, charactersMax: number): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text
}
