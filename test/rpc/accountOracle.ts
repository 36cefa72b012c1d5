/** Accounts of the demo chain, from proofs that are verified against the state roots of its blocks. */
import t from 'tap'
import type { Service } from '../service/service.js'
import { blockAt, examples, headBlock, hex, quantity, unknownHash } from './demoChain.js'
import { type ProofAnswer, verifyAnswer } from './proofOracle.js'
import { askResults, blockRefusals, checkRefusals, countRefusals, type Question } from './questions.js'

/** An account after a block. */
export interface ProvedAccount {
  readonly address: string
  readonly number: number
  readonly proof: ProofAnswer
}

/** All addresses in the examples, and two that do not exist. */
const addresses = [
  ...[...examples.accounts, ...examples.contracts].map(({ address }) => address),
  '0x00000000000000000000000000000000deadbeef',
  `0x${'00'.repeat(20)}`,
]
/** Blocks before and after most events, and the head. */
const numbers = [1, 2, 14, 60, 100, 148, 167, 200, 230, 264]

export async function proveAccounts(service: Service): Promise<ProvedAccount[]> {
  const places = addresses.flatMap((address) => numbers.map((number) => ({ address, number })))
  const proofs: ProofAnswer[] = await askResults(
    service,
    places.map(({ address, number }) => ['eth_getProof', [address, [], quantity(number)]]),
  )
  for (const [at, { number }] of places.entries()) {
    await verifyAnswer(hex(blockAt(number).header[3] as Uint8Array), proofs[at] as ProofAnswer)
  }
  return places.map((place, at) => ({ ...place, proof: proofs[at] as ProofAnswer }))
}

/** Questions by `method` about each account, with its block by number and by hash. */
export function questionsOf(method: string, accounts: readonly ProvedAccount[]): Question[] {
  return accounts.flatMap(({ address, number }): Question[] => [
    [method, [address, quantity(number)]],
    [method, [address, { blockHash: blockAt(number).hash }]],
  ])
}

/** Refusals of an address at position 0, with `next` after it. */
export function addressRefusals(
  next: unknown = 'latest',
): [params: unknown, code: number, message: string][] {
  const cases: [address: unknown, why: string][] = [
    ['', 'empty hex string'],
    ['12'.repeat(20), 'hex string without 0x prefix'],
    ['0x', 'hex string has length 0, want 40 for address'],
    [`0x${'1'.repeat(39)}`, 'hex string of odd length'],
    [`0x${'zz'.repeat(20)}`, 'invalid hex string'],
    [1, 'want a hex string for address, got number'],
    [[], 'want a hex string for address, got array'],
  ]
  return cases.map(([address, why]) => [[address, next], -32602, `invalid argument 0: ${why}`])
}

/** Common tests of methods that read one account: `method` takes an address and a block. */
export function testBlocksAndParameters(service: Service, method: string): void {
  t.test('without a block it is the head, which has many names', async (t) => {
    const { hash } = headBlock
    for (const { address } of examples.contracts) {
      const { result } = await service.call(method, [address])
      for (const name of ['latest', 'pending', hash, { blockHash: hash }, { blockNumber: 'latest' }, null]) {
        t.strictSame((await service.call(method, [address, name])).result, result)
      }
    }
  })

  t.test('a block that is not there is a fault', async (t) => {
    const address = examples.accounts[0]?.address ?? ''
    await checkRefusals(t, service, method, [
      [[address, '0xffff'], -32000, 'header not found'],
      [[address, unknownHash], -32000, 'header for hash not found'],
    ])
  })

  t.test('wrong parameters are refused', async (t) => {
    const address = examples.accounts[0]?.address ?? ''
    await checkRefusals(t, service, method, [
      ...countRefusals([address, 'latest'], 1),
      ...addressRefusals(),
      ...blockRefusals(1, (block) => [address, block]),
    ])
  })
}
