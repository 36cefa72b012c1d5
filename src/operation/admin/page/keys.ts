/** The view of API keys: their use, what they may do, and changes of both. */
import type { Key, NewKey, Usage } from '../shapes.js'
import { ask, Refusal, whyRefused } from './api.js'
import { copyButton } from './copyButton.js'
import { type Child, labelled, make, setText } from './dom.js'
import { formatCount } from './format.js'
import { describeKey, settingsForm } from './keySettings.js'
import { scrolled } from './table.js'
import type { View } from './view.js'

/** What each key used in the last hours, in cells beside it. */
const amounts = ['units', 'calls', 'errors'] as const

class KeyUse {
  /** Titles of the cells of a key. */
  readonly titles = ['Units', 'Calls', 'Errors']
  readonly note = make('p', { class: 'note', role: 'status' })
  #cells = new Map<string, readonly HTMLElement[]>()

  /** Cells for a key, filled by {@link read}; they take the place of those that it had. */
  cellsOf(keyId: string): readonly HTMLElement[] {
    const cells = amounts.map(() => make('td', { class: 'figure' }, '–'))
    this.#cells.set(keyId, cells)
    return cells
  }

  /** Fills the cells; says why where that cannot be. Never rejects. */
  async read(): Promise<void> {
    try {
      // Without times these are the current hour and the 23 before it.
      const { rows } = await ask<Usage>('api/usage?by=key')
      const used = new Map(rows.map((row) => [row.key, row]))
      for (const [keyId, cells] of this.#cells) {
        for (const [at, cell] of cells.entries()) {
          setText(cell, formatCount(used.get(keyId)?.[amounts[at] ?? 'units'] ?? 0))
        }
      }
      setText(this.note, 'Units, calls and errors are of the last 24 hours, the current one included.')
    } catch (error) {
      const why = error instanceof Refusal ? error.message : 'the server does not answer'
      setText(this.note, `What keys used cannot be read: ${why}`)
    }
  }
}

/** Between two looks at their use: each adds up a day of all keys. */
const useMs = 10_000

export async function keys(): Promise<View> {
  const use = new KeyUse()
  const secret = make('div', { role: 'status' })
  const list = make('div')
  const element = make('div', { class: 'stack' }, secret, list)
  const showSecret = ({ key, text }: NewKey) => secret.replaceChildren(secretCard(key, text))
  const reload = async () => {
    list.replaceChildren(keyList(await readKeys(), use, element, showSecret, reload))
    void use.read()
  }
  await reload()
  const timer = setInterval(() => void use.read(), useMs)
  return { element, close: () => clearInterval(timer) }
}

/** Keys that may be used first, then the others; newest first. */
async function readKeys(): Promise<Key[]> {
  const found = await ask<Key[]>('api/keys')
  const rank = ({ state }: Key) => Number(state !== 'live')
  return found.reverse().sort((a, b) => rank(a) - rank(b))
}

function keyList(
  found: readonly Key[],
  use: KeyUse,
  place: HTMLElement,
  showSecret: (made: NewKey) => void,
  reload: () => Promise<void>,
): HTMLElement {
  const create = () => {
    const form = settingsForm()
    openDialog(place, 'Make a key', [form.element], 'Make it', async () => {
      showSecret(await ask<NewKey>('api/keys', 'POST', form.read()))
      await reload()
    })
  }
  const change = (key: Key) => {
    const form = settingsForm(key)
    openDialog(place, `Change ${key.name}`, [form.element], 'Save', async () => {
      await ask(`api/keys/${key.id}`, 'POST', form.read())
      await reload()
    })
  }
  const rotate = (key: Key) => {
    const hours = make('input', { inputmode: 'numeric', pattern: '[0-9]+', required: true, value: 24 })
    const fields = [
      make('p', {}, 'Makes a new secret. Clients may use the earlier one for some time yet.'),
      labelled('Hours that the earlier secret stays valid', hours),
    ]
    openDialog(place, `Rotate ${key.name}`, fields, 'Make a new secret', async () => {
      const body = { overlapSeconds: Number(hours.value) * 3_600 }
      showSecret(await ask<NewKey>(`api/keys/${key.id}/rotate`, 'POST', body))
      await reload()
    })
  }
  const revoke = (key: Key) => {
    const text =
      'Ends the key for good, within a second. Its open WebSockets are closed. This cannot be undone.'
    openDialog(place, `Revoke ${key.name}`, [make('p', {}, text)], 'Revoke it', async () => {
      await ask(`api/keys/${key.id}`, 'DELETE')
      await reload()
    })
  }
  const action = (verb: string, key: Key, act: (key: Key) => void, kind: string) =>
    make(
      'button',
      { type: 'button', class: kind, 'aria-label': `${verb} ${key.name}`, onclick: () => act(key) },
      verb,
    )
  const row = (key: Key) =>
    make(
      'tr',
      {},
      make('td', {}, key.name),
      make('td', { class: 'code' }, key.id),
      make('td', { class: key.state === 'live' ? 'good' : 'bad' }, key.state),
      make('td', { class: 'long' }, describeKey(key)),
      ...use.cellsOf(key.id),
      make(
        'td',
        { class: 'actions' },
        ...(key.state === 'revoked'
          ? []
          : [
              action('Change', key, change, 'quiet'),
              action('Rotate', key, rotate, 'quiet'),
              action('Revoke', key, revoke, 'danger'),
            ]),
      ),
    )
  const title = (text: string, kind?: string) => make('th', { scope: 'col', class: kind }, text)
  const titles = [
    ...['Name', 'Id', 'State', 'May be used for'].map((text) => title(text)),
    ...use.titles.map((text) => title(text, 'figure')),
    title('Actions'),
  ]
  const table = make(
    'table',
    { 'aria-label': 'API keys' },
    make('thead', {}, make('tr', {}, ...titles)),
    make('tbody', {}, ...found.map(row)),
  )
  return make(
    'section',
    { class: 'card' },
    make('h3', {}, 'API keys'),
    use.note,
    make('button', { type: 'button', onclick: create }, 'Make a key'),
    scrolled('API keys', table),
  )
}

/** The text of a key, until its reader has it. */
function secretCard({ name, id }: Key, text: string): HTMLElement {
  const shown = make('pre', { tabindex: 0, 'aria-label': 'New secret' }, text)
  const card = make(
    'section',
    { class: 'card secret' },
    make('h3', {}, `The new secret of ${name} (${id})`),
    make('p', {}, 'Copy it now: only its hash is stored, so it is not shown again.'),
    shown,
    copyButton('Copy', shown),
    ' ',
    make('button', { type: 'button', class: 'quiet', onclick: () => card.remove() }, 'I have it'),
  )
  return card
}

/** Asks before `act`; stays open with the reason where that is refused. Escape closes it. */
function openDialog(
  place: HTMLElement,
  title: string,
  content: readonly Child[],
  verb: string,
  act: () => Promise<void>,
): void {
  const problem = make('p', { role: 'alert', class: 'problem' })
  const submit = async (event: Event) => {
    event.preventDefault()
    try {
      await act()
      dialog.close()
    } catch (error) {
      problem.textContent = whyRefused(error)
    }
  }
  const opener = document.activeElement
  const leave = () => {
    dialog.remove()
    if (opener?.isConnected) return
    // The list was made anew; the keyboard goes on where it was.
    const buttons = [...place.querySelectorAll('button')]
    const again = buttons.find((button) => button.ariaLabel === opener?.ariaLabel) ?? buttons[0]
    again?.focus()
  }
  const dialog = make(
    'dialog',
    { 'aria-label': title, onclose: leave },
    make(
      'form',
      { onsubmit: (event) => void submit(event) },
      make('h3', {}, title),
      ...content,
      problem,
      make('button', { type: 'submit' }, verb),
      ' ',
      make('button', { type: 'button', class: 'quiet', onclick: () => dialog.close() }, 'Cancel'),
    ),
  )
  place.append(dialog)
  dialog.showModal()
}
