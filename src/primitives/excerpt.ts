/** The first `charactersMax` characters of a text, with `…` where it has more; for error messages. */
export function excerpt(text: string, charactersMax: number): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text
}
