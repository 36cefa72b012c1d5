/** Entity tags of RFC 9110, section 8.8.3. */

/** Whether `If-None-Match` names this tag, by weak comparison. Empty: no such header was sent. */
export function isNamedIn(ifNoneMatch: string, tag: string): boolean {
  if (ifNoneMatch === '') return false
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.match(/"[^"]*"/g)?.some((named) => named === tag) ?? false
}
