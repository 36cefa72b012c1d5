/** Readable JSON: one member per line, long hex folded until it is clicked. */
import { make } from './dom.js'

/** Characters of an answer that are shown; a browser takes seconds to lay out megabytes. */
const shownMax = 200_000
/** Hex with more digits than this is folded: a word of 32 bytes is not. */
const foldedMin = 64
const foldedShown = 18

/** Content of a `pre`; text that is not JSON, or too long, stays as it is. */
export function json(text: string): (Node | string)[] {
  if (text.length > shownMax) {
    return [`${text.slice(0, shownMax)}…\n(${text.length - shownMax} more characters)`]
  }
  const longHex = new RegExp(`("0x[0-9a-f]{${foldedMin + 1},}")`, 'i')
  return pretty(text)
    .split(longHex)
    .map((part, at) => (at % 2 === 1 ? folded(part) : part))
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}

function folded(hex: string): Node {
  const bytes = ((hex.length - 4) / 2).toLocaleString('en')
  const short = `${hex.slice(0, foldedShown)}… ${bytes} bytes`
  const button = make('button', { type: 'button', class: 'link', 'aria-expanded': 'false' }, short)
  button.addEventListener('click', () => {
    const isOpen = button.ariaExpanded === 'true'
    button.ariaExpanded = String(!isOpen)
    button.textContent = isOpen ? short : hex
  })
  return button
}
