/** Output of a command. Each call writes whole lines; the last line break is left out of `text`. */
export interface Io {
  /** Results, on standard output. */
  readonly out: (text: string) => void
  /** Messages, on standard error. */
  readonly err: (text: string) => void
}
