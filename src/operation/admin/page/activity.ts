/** The newest blocks with their transactions, waiting submissions, and slow calls. */
import type { LastBlock, LiveState, Submissions } from '../shapes.js'
import { json } from './answer.js'
import { ask, callNetwork, whyRefused } from './api.js'
import { labelled, make, offer, opener, type View } from './dom.js'
import { formatAge, formatBytes, formatCount, formatMs, formatShare, formatTime } from './format.js'
import type { LiveSource } from './live.js'
import { notedTable } from './notedCalls.js'
import { figures, LiveTable } from './table.js'

export function activity(live: LiveSource): View {
  let nowMs = 0
  let newest: LiveState | undefined
  let blocks: readonly LastBlock[] = []
  /** Network and head of `blocks`, or of the requested ones. */
  let shown = ''
  const network = make('select', { 'aria-label': 'Network', onchange: () => redraw() })
  const choice = labelled('Network', network)
  const opened = new Opened()
  const table = new LiveTable<LastBlock>(
    'Last blocks',
    [
      {
        title: 'Block',
        of: (block) => opener(formatCount(block.number), () => opened.openBlock(network.value, block)),
      },
      { title: 'Time (UTC)', of: ({ timestamp }) => formatTime(Date.parse(timestamp)) },
      figures('Age', ({ timestamp }) => formatAge(nowMs - Date.parse(timestamp))),
      figures('Transactions', ({ transactions }) => formatCount(transactions ?? undefined)),
      figures('Gas used', ({ gasUsed }) => formatCount(gasUsed)),
      figures('Of its limit', ({ gasUsed, gasLimit }) => formatShare(gasUsed, gasLimit)),
    ],
    'No network has blocks.',
    choice,
  )
  const waiting = waitingTable((name) => void opened.openSubmissions(name))
  const slow = notedTable('Slow calls', 'None of late.', (call) =>
    opened.show(section(`${call.method}, ${formatMs(call.seconds * 1_000)}`, call.params)),
  )

  const read = async (name: string, head: string) => {
    try {
      const found = await ask<LastBlock[]>(`api/networks/${name}/blocks`)
      // Another network may have been chosen meanwhile.
      if (head === shown) blocks = found
    } catch {
      // The next state requests them again.
      shown = ''
    }
    redraw()
  }
  const redraw = () => {
    if (newest === undefined) return
    nowMs = Date.parse(newest.at)
    const chains = newest.networks.filter(({ chain }) => chain !== null)
    offer(
      network,
      chains.map(({ name }) => name),
    )
    choice.hidden = chains.length < 2
    const chosen = chains.find(({ name }) => name === network.value)
    const head = `${chosen?.name} ${chosen?.chain?.head.hash}`
    if (chosen !== undefined && head !== shown) {
      shown = head
      void read(chosen.name, head)
    }
    table.show(blocks)
    const queues = newest.networks.filter(({ queue }) => queue !== null)
    waiting.show(queues)
    waiting.element.hidden = queues.length === 0
    slow.show(newest.slowCalls)
  }
  const close = live.listen(({ state }) => {
    newest = state
    redraw()
  })
  return {
    element: make('div', { class: 'stack' }, table.element, opened.element, waiting.element, slow.element),
    close,
  }
}

/** The item opened last: a block, a receipt, or the parameters of a slow call. */
class Opened {
  readonly element = make('div', { class: 'stack' })

  show(shown: HTMLElement): void {
    this.element.replaceChildren(shown)
  }

  openSubmissions(network: string): Promise<void> {
    return this.#open(async () => {
      const { prefix, waiting } = await ask<Submissions>(`api/networks/${network}/submissions`)
      const table = new LiveTable<Submissions['waiting'][number]>(
        `Submissions to ${network} that wait longest`,
        [
          {
            title: 'Hash',
            of: ({ hash }) => opener(hash, () => this.#openSubmission(network, prefix, hash)),
          },
          { title: 'Received (UTC)', of: ({ receivedAt }) => formatTime(Date.parse(receivedAt)) },
          { title: 'State', of: ({ state }) => state },
          { title: 'Sender', of: ({ sender }) => sender },
          figures('Nonce', ({ nonce }) => BigInt(nonce).toLocaleString('en')),
          figures('Size', ({ bytes }) => formatBytes(bytes)),
        ],
        'None.',
      )
      table.show(waiting)
      return table.element
    })
  }

  #openSubmission(network: string, prefix: string, hash: string): Promise<void> {
    return this.#call(`Submission ${hash}`, network, `${prefix}_getTransactionByHash`, [hash])
  }

  openBlock(network: string, { number }: LastBlock): Promise<void> {
    const params = [`0x${number.toString(16)}`, true]
    return this.#call(`Block ${formatCount(number)}`, network, 'eth_getBlockByNumber', params, (block) => {
      const { transactions } = block as {
        transactions: readonly { hash: string; from: string; to: string | null }[]
      }
      return transactions.map(({ hash, from, to }) => {
        const receipt = opener(hash, () => this.#openReceipt(network, hash))
        return make('li', {}, receipt, ` from ${from} to ${to ?? 'a new contract'}`)
      })
    })
  }

  #openReceipt(network: string, hash: string): Promise<void> {
    return this.#call(`Receipt of ${hash}`, network, 'eth_getTransactionReceipt', [hash])
  }

  #call(
    title: string,
    network: string,
    method: string,
    params: readonly unknown[],
    list: (result: unknown) => readonly HTMLElement[] = () => [],
  ): Promise<void> {
    return this.#open(async () => {
      const { answer } = await callNetwork(network, { method, params })
      const { result } = JSON.parse(answer)
      return section(title, JSON.stringify(result), list(result))
    })
  }

  /** Shows the requested element, or why it was refused. */
  async #open(read: () => Promise<HTMLElement>): Promise<void> {
    const refused = (error: unknown) => make('p', { class: 'problem', role: 'alert' }, whyRefused(error))
    this.show(await read().catch(refused))
    this.element.scrollIntoView({ block: 'nearest' })
  }
}

function section(title: string, text: string, items: readonly HTMLElement[] = []): HTMLElement {
  return make(
    'section',
    { class: 'card' },
    make('h3', {}, title),
    items.length > 0 && make('ol', { class: 'hashes' }, ...items),
    make('pre', { class: 'answer', tabindex: 0, 'aria-label': title }, ...json(text)),
  )
}

function waitingTable(open: (network: string) => void) {
  return new LiveTable<LiveState['networks'][number]>(
    'Submissions that wait for a sequencer',
    [
      { title: 'Network', of: ({ name }) => opener(name, () => open(name)) },
      figures('Waiting', ({ queue }) => formatCount(queue?.waiting)),
      figures('The oldest for', ({ queue }) =>
        queue?.waiting ? formatAge(queue.oldestSeconds * 1_000) : '–',
      ),
      figures('Settled', ({ queue }) => formatCount(queue?.settled)),
    ],
    'None.',
  )
}
