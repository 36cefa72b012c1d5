/** The newest blocks of one network, read again when it has another head. */
import type { LastBlock, LiveState } from '../shapes.js'
import { ask } from './api.js'
import { labelled, make } from './dom.js'
import { formatAge, formatCount, formatShare, formatTime } from './format.js'
import { figures, LiveTable } from './table.js'

interface LastBlocks {
  readonly element: HTMLElement
  show(state: LiveState): void
}

export function lastBlocks(): LastBlocks {
  let nowMs = 0
  const network = make('select', { onchange: () => redraw() })
  const choice = labelled('Network', network)
  const table = new LiveTable<LastBlock>(
    'Last blocks',
    [
      { title: 'Block', of: ({ number }) => formatCount(number) },
      { title: 'Time (UTC)', of: ({ timestamp }) => formatTime(Date.parse(timestamp)) },
      figures('Age', ({ timestamp }) => formatAge(nowMs - Date.parse(timestamp))),
      figures('Transactions', ({ transactions }) => formatCount(transactions ?? undefined)),
      figures('Gas used', ({ gasUsed }) => formatCount(gasUsed)),
      figures('Of its limit', ({ gasUsed, gasLimit }) => formatShare(gasUsed, gasLimit)),
    ],
    'No network has blocks.',
    choice,
  )
  let newest: LiveState | undefined
  let blocks: readonly LastBlock[] = []
  /** Network and head of `blocks`, or of those that are asked for. */
  let shown = ''

  const redraw = () => newest && show(newest)
  const read = async (name: string, head: string) => {
    try {
      const found = await ask<LastBlock[]>(`api/networks/${name}/blocks`)
      // Meanwhile another network may have been chosen.
      if (head === shown) blocks = found
    } catch {
      // The next state asks again.
      shown = ''
    }
    redraw()
  }
  const show = (state: LiveState): void => {
    newest = state
    nowMs = Date.parse(state.at)
    const chains = state.networks.filter(({ chain }) => chain !== null)
    if (network.options.length !== chains.length) {
      network.replaceChildren(...chains.map(({ name }) => make('option', { value: name }, name)))
    }
    choice.hidden = chains.length < 2
    const chosen = chains.find(({ name }) => name === network.value)
    const head = `${chosen?.name} ${chosen?.chain?.head.hash}`
    if (chosen !== undefined && head !== shown) {
      shown = head
      void read(chosen.name, head)
    }
    table.show(blocks)
  }
  return { element: table.element, show }
}
