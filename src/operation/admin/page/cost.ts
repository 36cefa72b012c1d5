/** Units by day and key, or of one key by day and method, as far back as usage is stored. */
import type { Key, Usage } from '../shapes.js'
import { ask, whyRefused } from './api.js'
import { choice, labelled, make, type View } from './dom.js'
import { formatCount } from './format.js'
import { LiveTable, spentColumns } from './table.js'

type Row = Usage['rows'][number]

const daySpans = ['1', '7', '30', '365']

export async function cost(): Promise<View> {
  const names = new Map((await ask<readonly Key[]>('api/keys')).map(({ id, name }) => [id, name]))
  const days = choice(daySpans, (count) => `${count} d`)
  days.value = '7'
  const key = choice(['', ...names.keys()], (id) => (id === '' ? 'all' : `${names.get(id)} (${id})`))
  const total = make('p', { class: 'verdict', role: 'status' })
  const table = new LiveTable<Row>(
    'Units by day',
    [
      { title: 'Day (UTC)', of: ({ time }) => time?.slice(0, 10) ?? '' },
      { title: 'Key or method', of: (row) => row.method ?? names.get(row.key ?? '') ?? row.key ?? '' },
      ...spentColumns,
    ],
    'Nothing was used in this time.',
  )
  const read = async () => {
    const first = new Date(Date.now() - (Number(days.value) - 1) * 86_400_000).toISOString().slice(0, 10)
    const by = key.value === '' ? 'day,key' : 'day,method'
    const query = new URLSearchParams({ from: first, by, ...(key.value && { key: key.value }) })
    try {
      const { rows } = await ask<Usage>(`api/usage?${query}`)
      table.show(rows.toReversed())
      const sum = (of: (row: Row) => number) => formatCount(rows.reduce((sum, row) => sum + of(row), 0))
      total.textContent = `${sum(({ units }) => units)} units, ${sum(({ calls }) => calls)} calls, ${sum(({ errors }) => errors)} errors`
    } catch (error) {
      total.textContent = `What was used cannot be read: ${whyRefused(error)}`
    }
  }
  for (const input of [days, key]) input.addEventListener('change', () => void read())
  await read()
  return {
    element: make(
      'div',
      { class: 'stack' },
      make('div', { class: 'row card' }, labelled('Days', days), labelled('Key', key)),
      total,
      table.element,
    ),
    close() {},
  }
}
