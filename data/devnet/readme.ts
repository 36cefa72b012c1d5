/** Writes README.md of the demo network from its examples, so that both agree. */
import { seedPhrase } from './accounts.js'
import type { Examples } from './examples.js'

/** A table with its columns aligned, as the formatter of this repository wants it. */
function table(headings: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const lines = [headings, ...rows].map((cells) => cells.map((cell) => String(cell).replaceAll('|', '\\|')))
  const length = (text: string) => [...text].length
  const widths = headings.map((_, column) =>
    Math.max(3, ...lines.map((cells) => length(cells[column] ?? ''))),
  )
  const pad = (text: string, width: number, filler: string) => text + filler.repeat(width - length(text))
  const render = (cells: readonly string[], filler: string) =>
    `| ${widths.map((width, column) => pad(cells[column] ?? '', width, filler)).join(' | ')} |`
  const [head, ...body] = lines as [string[], ...string[][]]
  return [render(head, ' '), render([], '-'), ...body.map((cells) => render(cells, ' '))].join('\n')
}

function code(text: string): string {
  return `\`${text}\``
}

/** Numbers in a few digits: slots and values of 32 bytes make no readable table otherwise. */
function short(hex: string): string {
  const digits = hex.slice(2).replace(/^0+/, '')
  return code(digits.length > 40 ? hex : `0x${digits === '' ? '0' : digits}`)
}

function introduction(examples: Examples, chainBytes: number): string {
  const files = table(
    ['file', 'what it is'],
    [
      [code('genesis.json'), "genesis in geth's format"],
      [
        code('chain.rlp'),
        `blocks 1 to ${examples.head.number}, RLP, one after another, as ${code('geth import')} takes them`,
      ],
      [
        code('examples.json'),
        `what is worth asking for, for programs; its type is in ${code('examples.ts')}`,
      ],
      [code('layouts.json'), 'storage layouts of the contracts, for reading variables by name'],
      [code('contracts/'), 'the contracts, written for this network'],
      [code('story/'), 'what happens in which block'],
    ],
  )
  return `# The demo network

A chain of ${examples.head.number} blocks, ${examples.totalTransactions} transactions and ${(chainBytes / 1024).toFixed(0)} KiB that has one of everything: every fork from
Frontier to BPO2, every type of transaction, uncles, withdrawals, blobs, failures of all kinds. It is made by
the scripts in this folder, the same bytes on every run:

    npm run devnet                                    writes the files, about half a minute
    npm run -s build && node dist/modules/data/devnet/make.js --check    only compares

${files}

Chain id ${examples.chainId}, genesis ${code(examples.genesisHash)}, head ${code(examples.head.hash)},
terminal total difficulty ${BigInt(examples.terminalTotalDifficulty)}.

No work was proven: ${code('mixHash')} and ${code('nonce')} of the proof-of-work blocks are hashes of the block's number, so a client
that verifies the seal refuses them. Difficulty, rewards, uncles, roots, fees and everything else follow the
protocol, and the script executes the finished chain a second time from its bytes to make sure. Randomness and
beacon roots after the Merge are such hashes too. The deposit contract is a stand-in that logs as the real one does.

This file is written by ${code('npm run devnet')}; change ${code('readme.ts')} instead.
`
}

/** The README's text. */
export function renderReadme(examples: Examples, chainBytes: number): string {
  const forks = table(
    ['fork', 'first block', 'its timestamp'],
    examples.forks.map(({ name, block, timestamp }) => [name, block, timestamp]),
  )
  const contracts = table(
    ['name', 'address', 'source', 'since block', ''],
    examples.contracts.map((one) => [one.name, code(one.address), one.source, one.block, one.note]),
  )
  const accounts = table(
    ['name', 'address', 'nonce', ''],
    examples.accounts.map((one) => [one.name, code(one.address), one.nonce, one.note]),
  )
  const slots = table(
    ['contract', 'what', 'slot', 'how it is computed', 'after block', 'value'],
    examples.slots.map((one) => [
      one.contract,
      one.label,
      short(one.slot),
      one.how,
      one.block,
      short(one.value),
    ]),
  )
  const blocks = table(
    ['block', 'what', '', 'transactions', 'logs', 'uncles', 'withdrawals'],
    examples.blocks.map((one) => [
      one.number,
      one.labels.join(', '),
      one.note,
      one.transactions,
      one.logs,
      one.uncles,
      one.withdrawals,
    ]),
  )
  const transactions = table(
    ['block', 'index', 'type', 'what', '', 'succeeded'],
    examples.transactions.map((one) => [
      one.block,
      one.index,
      one.type,
      one.label,
      one.note,
      one.succeeded ? 'yes' : 'no',
    ]),
  )
  return `${introduction(examples, chainBytes)}
## Forks

${forks}

## Contracts

${contracts}

## Accounts

A private key is Keccak-256 of "${seedPhrase}: name". They are public: never send anything of value
to these addresses. Keys and balances stand in ${code('examples.json')}.

${accounts}

## Storage

${code('‖')} joins words of 32 bytes; numbers and addresses are padded on the left, texts on the right.

${slots}

## Blocks

${blocks}

## Transactions

${transactions}
`
}
