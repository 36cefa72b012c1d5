/** The view of API keys: their use, their permissions, and changes of both. */
import type { Key, LiveState, NewKey, Usage } from '../shapes.js'
import { ask, Refusal, whyRefused } from './api.js'
import { type Child, copyButton, labelled, make, setText, type View } from './dom.js'
import { formatAge, formatCount, formatShare, keyLabel } from './format.js'
import { describeKey, settingsForm } from './keySettings.js'
import type { LiveSource } from './live.js'
import { failures, figures, LiveTable } from './table.js'

/** Usage of a key; undefined if not known yet. */
type Used = Pick<Usage['rows'][number], 'units' | 'calls' | 'errors'> | undefined

interface Row {
  readonly key: Key
  readonly isOver: boolean
  readonly used: Used
}

/** Time between two readings of the usage: each sums a day of all keys. */
const useMs = 10_000

export async function keys(live: LiveSource): Promise<View> {
  const secret = make('div', { role: 'status' })
  const note = make('p', { class: 'note', role: 'status' })
  const list = make('div')
  const refused = refusedTable()
  let refusals: LiveState['refusedKeys'] = []
  const element = make('div', { class: 'stack' }, secret, refused.element, list)
  const stop = live.listen(({ state }) => {
    if (state === undefined) return
    refusals = state.refusedKeys
    refused.element.hidden = refusals.length === 0
    const nowMs = Date.parse(state.at)
    refused.show(refusals.map((key) => ({ ...key, nowMs })))
  })
  const showSecret = ({ key, text }: NewKey) => secret.replaceChildren(secretCard(key, text))
  let showUse: (usedBy: (keyId: string) => Used) => void
  /** Reads again the units that keys spent of their daily quotas. */
  let refresh: () => Promise<void>
  const reload = async () => {
    let found = await readKeys()
    // A new table each time: buttons act on the keys for which they were made.
    const table = keyTable(note, element, showSecret, reload)
    showUse = (usedBy) =>
      table.show(found.map((key) => ({ key, isOver: isOverQuota(key, refusals), used: usedBy(key.id) })))
    refresh = async () => {
      const days = new Map((await ask<Key[]>('api/keys')).map(({ id, day }) => [id, day]))
      found = found.map((key) => ({ ...key, day: days.get(key.id) ?? null }))
    }
    showUse(() => undefined)
    list.replaceChildren(table.element)
    void readUse()
  }
  // Never rejects.
  const readUse = async () => {
    try {
      // Without times these are the current hour and the 23 before it.
      const { rows } = await ask<Usage>('api/usage?by=key')
      const used = new Map(rows.map((row) => [row.key, row]))
      await refresh()
      showUse((keyId) => used.get(keyId) ?? { units: 0, calls: 0, errors: 0 })
      setText(note, 'Units, calls and errors are of the last 24 hours, the current one included.')
    } catch (error) {
      const why = error instanceof Refusal ? error.message : 'the server does not answer'
      setText(note, `What keys used cannot be read: ${why}`)
    }
  }
  await reload()
  const timer = setInterval(() => void readUse(), useMs)
  return {
    element,
    close() {
      clearInterval(timer)
      stop()
    },
  }
}

/** Usable keys first, then the others; newest first. */
async function readKeys(): Promise<Key[]> {
  const found = await ask<Key[]>('api/keys')
  const rank = ({ state }: Key) => Number(state !== 'live')
  return found.reverse().sort((a, b) => rank(a) - rank(b))
}

function keyTable(
  note: HTMLElement,
  place: HTMLElement,
  showSecret: (made: NewKey) => void,
  reload: () => Promise<void>,
): LiveTable<Row> {
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
  const actions = (key: Key) =>
    key.state !== 'revoked' &&
    make(
      'span',
      {},
      action('Change', key, change, 'quiet'),
      action('Rotate', key, rotate, 'quiet'),
      action('Revoke', key, revoke, 'danger'),
    )
  const amount = (title: string, name: keyof NonNullable<Used>) =>
    figures<Row>(title, ({ used }) => (used === undefined ? '–' : formatCount(used[name])))
  return new LiveTable<Row>(
    'API keys',
    [
      { title: 'Name', of: ({ key }) => key.name },
      { title: 'Id', of: ({ key }) => key.id, cellClass: () => 'code' },
      {
        title: 'State',
        of: ({ key, isOver }) => (isOver ? 'over its quota' : key.state),
        cellClass: ({ key, isOver }) => (key.state === 'live' && !isOver ? 'good' : 'bad'),
      },
      {
        title: 'Of the day',
        of: ({ key }) => dayText(key),
        cellClass: ({ isOver }) => (isOver ? 'bad long' : 'long'),
      },
      { title: 'May be used for', of: ({ key }) => describeKey(key), cellClass: () => 'long' },
      amount('Units', 'units'),
      amount('Calls', 'calls'),
      amount('Errors', 'errors'),
      { title: 'Actions', of: ({ key }) => actions(key), cellClass: () => 'actions' },
    ],
    'There are no keys yet.',
    note,
    make('button', { type: 'button', onclick: create }, 'Make a key'),
  )
}

/** A key over its quota has been refused for it, and has still spent nearly all of it, or has spent it all. */
const nearlyAll = 0.9

function isOverQuota({ day, state, id }: Key, refused: LiveState['refusedKeys']): boolean {
  if (state !== 'live' || day === null) return false
  const isRefused = refused.some((key) => key.id === id && key.reason === 'quota')
  return day.spent >= day.units || (isRefused && day.spent >= nearlyAll * day.units)
}

function dayText({ day, state }: Key): string {
  if (day === null || state !== 'live') return '–'
  const resets = formatAge(Date.parse(day.resetsAt) - Date.now())
  return `${formatShare(day.spent, day.units)} of ${formatCount(day.units)} units; resets in ${resets}`
}

function refusedTable() {
  return new LiveTable<LiveState['refusedKeys'][number] & { readonly nowMs: number }>(
    'Refused in the last hour',
    [
      { title: 'Key', of: ({ id, name }) => keyLabel(id, name), cellClass: () => 'long' },
      failures('Refused', ({ count }) => count),
      { title: 'Reason', of: ({ reason }) => reason },
      { title: 'Last answer', of: ({ why }) => why, cellClass: () => 'long' },
      figures('Ago', ({ at, nowMs }) => formatAge(nowMs - Date.parse(at))),
    ],
    'None.',
  )
}

/** The text of a key, shown until its reader has it. */
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

/** Asks before `act`; if that is refused, stays open with the reason. Escape closes it. */
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
    // The list was made again; the focus returns to the same button.
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
