import t from 'tap'
import type { SentTransaction } from '../../../../src/execution/evm/transactions/sentTransaction.js'
import { bytesToHex, type Hash32 } from '../../../../src/primitives/bytes.js'
import { keccak256 } from '../../../../src/primitives/keccak.js'
import { Forwarding, sendsMax } from '../../../../src/sources/ingest/transactions/forwarding.js'
import type { SentTransactions } from '../../../../src/sources/ingest/transactions/sentTransactions.js'
import { NodeError, type Upstream } from '../../../../src/sources/upstream/upstream.js'
import type { Upstreams } from '../../../../src/sources/upstream/upstreams.js'

function transaction(number: number): SentTransaction {
  const raw = Uint8Array.of(number)
  return { raw, hash: keccak256(raw) as Hash32 } as SentTransaction
}

/** A node that answers when the test decides, with the records of transactions and log lines. */
function open() {
  const asked: { readonly raw: string; settle(refusal?: string): void }[] = []
  const remembered: SentTransaction[] = []
  const said: string[] = []
  const upstream = { name: 'node' } as Upstream
  const askEach = (_method: string, [raw]: [string]) => {
    const answer = new Promise<string>((resolve, reject) => {
      const hash = bytesToHex(keccak256(Buffer.from(raw.slice(2), 'hex')))
      asked.push({
        raw,
        settle: (refusal) =>
          refusal === undefined
            ? resolve(hash)
            : reject(Object.assign(Object.create(NodeError.prototype), { message: refusal, upstream })),
      })
    })
    return [{ upstream, answer }]
  }
  const sent = {
    add: (tx: SentTransaction) => remembered.push(tx),
    onHead: () => undefined,
    close: async () => undefined,
  }
  const forwarding = new Forwarding(
    { askEach } as unknown as Upstreams,
    sent as unknown as SentTransactions,
    (text) => said.push(text),
  )
  return { forwarding, asked, remembered, said }
}

t.test('only so many are on their way at once; the rest is remembered for the next look', async (t) => {
  const { forwarding, asked, remembered, said } = open()
  for (let number = 0; number < sendsMax + 10; number++) forwarding.add(transaction(number))
  t.equal(asked.length, sendsMax)
  t.equal(remembered.length, sendsMax + 10)
  for (const { settle } of asked) settle()
  await forwarding.close()
  forwarding.add(transaction(200))
  t.equal(asked.length, sendsMax + 1, 'there is room again')
  asked.at(-1)?.settle()
  await forwarding.close()
  t.strictSame(said, [])
})

t.test('refusals are reported, but not one by one', async (t) => {
  const { forwarding, asked, said } = open()
  for (let number = 0; number < 5; number++) forwarding.add(transaction(number))
  for (const { settle } of asked) settle('transaction underpriced')
  await forwarding.close()
  t.equal(said.length, 1)
  t.match(said[0], /waits here, and is refused by a node: transaction underpriced/)
})
