/**
 * Stores that begin at blocks of other chains than the demo chain: token transfers and exchanges, and an OP Stack chain
 * of op-geth. From their first block on, they answer like the archive that executed all blocks.
 */
import { join } from 'node:path'
import t from 'tap'
import { writeImportChain } from '../../../bench/data/importChains.js'
import { optimismFolder, skipsOptimism } from '../../ingest/optimismChain.js'
import { makeFolder } from '../../library/folder.js'
import { someOf } from '../../library/property.js'
import {
  type AskedBlock,
  askNetwork,
  type CallSubjects,
  callsAt,
  callsWithin,
  differencesOf,
} from '../../rpc/blockCalls.js'
import { quantity } from '../../rpc/demoChain.js'
import { runHere, writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'

const asksAll = process.env.BLOCKS === 'all'

interface StartedChain {
  readonly genesis: string
  readonly chain: string
  readonly starts: readonly number[]
}

const chains: readonly {
  readonly name: string
  readonly skip: string | false
  readonly make: (folder: string) => Promise<StartedChain>
}[] = [
  {
    name: 'mixed',
    skip: false,
    async make(folder) {
      await writeImportChain('mixed', 3, folder, 60)
      const genesis = join(folder, 'genesis.json')
      const chain = join(folder, 'chain.rlp')
      return { genesis, chain, starts: [2, 4, 6] }
    },
  },
  {
    name: 'op',
    skip: skipsOptimism,
    async make() {
      const [genesis, chain] = ['genesis.json', 'chain.rlp.gz'].map((name) => join(optimismFolder, 'a', name))
      // Just before the forks Ecotone, Isthmus and Jovian.
      return { genesis: genesis as string, chain: chain as string, starts: [47, 161, 203] }
    },
  },
]

async function run(...words: string[]): Promise<void> {
  const { status, err } = await runHere(words)
  if (status !== 0) throw new Error(err)
}

interface TellingBlock extends AskedBlock {
  readonly transactions: readonly {
    readonly hash: string
    readonly from: string
    readonly to: string | null
  }[]
}

async function blockOf(service: Service, network: string, number: number | 'latest'): Promise<TellingBlock> {
  const id = number === 'latest' ? number : quantity(number)
  const [answer] = await askNetwork(service, network, [['eth_getBlockByNumber', [id, true]]])
  const block = answer?.result as Omit<TellingBlock, 'number'> & { readonly number: string }
  return { ...block, number: Number(block.number) }
}

/** Accounts of a block, and slots of the contracts among them. */
async function subjectsOf(
  service: Service,
  network: string,
  { hash, transactions }: TellingBlock,
): Promise<CallSubjects> {
  const ask = (calls: Parameters<typeof askNetwork>[2]) => askNetwork(service, network, calls)
  const called = [...new Set(transactions.flatMap(({ to }) => to ?? []))]
  const codes = await ask(called.map((to) => ['eth_getCode', [to, 'latest']]))
  const contracts = called.filter((_, at) => codes[at]?.result !== '0x').slice(0, 5)
  const ranges = await ask(contracts.map((to) => ['debug_storageRangeAt', [hash, 0, to, '0x', 3]]))
  const slots = ranges.flatMap(({ result }, at) => {
    const { storage } = result as { storage: Record<string, { key: string }> | null }
    return Object.values(storage ?? {}).map(({ key }) => ({ address: contracts[at] as string, slot: key }))
  })
  const accounts = [...new Set(transactions.map(({ from }) => from))].slice(0, 5)
  return { accounts, contracts, slots, call: { from: accounts[0], to: contracts[0], data: '0x18160ddd' } }
}

for (const { name, skip, make } of chains) {
  t.test(`${name}: from some blocks on`, { skip }, async (t) => {
    const folder = makeFolder(t)
    const data = join(folder, 'data')
    const { genesis, chain, starts: all } = await make(folder)
    const starts = asksAll ? all : someOf(all, 1)
    await run('import', '--data', data, '--network', name, '--genesis', genesis, chain)
    for (const start of starts) {
      const files = join(folder, `${start}`)
      await run(
        ...['export', '--data', data, '--network', name, '--state', '--block', `${start}`, '--out', files],
      )
      const [state, header] = ['state.jsonl.gz', 'blocks.rlp'].map((end) =>
        join(files, `${name}-${start}-${end}`),
      )
      await run(
        ...['import', '--data', data, '--network', `${name}${start}`, '--genesis', genesis],
        ...['--state', state as string, '--header', header as string, chain],
      )
    }
    const names = [name, ...starts.map((start) => `${name}${start}`)]
    const networks = names.map((each) => ({ name: each, genesis }))
    const service = await startService([
      '--config',
      writeConfig(folder, { dataDir: data, networks }),
      '--no-auth',
    ])
    t.teardown(() => service.stop())
    const { number: head } = await blockOf(service, name, 'latest')
    const last = await blockOf(service, name, head)
    const subjects = await subjectsOf(service, name, last)
    t.ok(subjects.contracts.length > 0 && subjects.slots.length > 0, 'there is something to ask for')
    for (let number = starts[0] as number; number <= head; number++) {
      const begun = starts.filter((start) => start <= number)
      // Asks each start about its first blocks and the head; about every block with BLOCKS=all.
      const isChosen = asksAll || number === head
      if (number > (begun.at(-1) as number) + 2 && !isChosen) continue
      const block = await blockOf(service, name, number)
      for (const start of isChosen ? begun : begun.slice(-1)) {
        const calls = [...callsAt(subjects, block), ...(number > start ? callsWithin(subjects, block) : [])]
        const [got, want] = [
          await askNetwork(service, `${name}${start}`, calls),
          await askNetwork(service, name, calls),
        ]
        // Nonces of deposits are in receipts; those of the first block are unknown.
        const isUnreported = (at: number) =>
          name === 'op' && number === start && got[at]?.error?.code === 4444
        const reported = want.map((answer, at) => (isUnreported(at) ? got[at] : answer)) as typeof want
        t.strictSame(differencesOf(calls, got, reported), [], `block ${number} of the store from ${start} on`)
        if (number === start) t.ok(calls.filter((_, at) => isUnreported(at)).length < 5, 'few are not told')
      }
    }
  })
}
