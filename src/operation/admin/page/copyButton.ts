import { make } from './dom.js'

/** A button that copies a text, and reports that. Browsers forbid copying without TLS; then it selects the text. */
export function copyButton(label: string, source: HTMLElement): HTMLElement {
  const said = make('span', { role: 'status' })
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(source.textContent ?? '')
      said.textContent = ' Copied'
    } catch {
      getSelection()?.selectAllChildren(source)
      said.textContent = ' Selected: copy it with the keyboard'
    }
  }
  return make('span', {}, make('button', { type: 'button', onclick: () => void copy() }, label), said)
}
