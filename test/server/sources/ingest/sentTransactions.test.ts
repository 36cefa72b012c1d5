import { Wallet } from 'ethers'
import t, { type Test } from 'tap'
import {
  checkSentTransaction,
  type SentTransaction,
} from '../../../../src/execution/evm/transactions/sentTransaction.js'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.js'
import { SentTransactions, sentBounds } from '../../../../src/sources/ingest/transactions/sentTransactions.js'
import { Upstreams } from '../../../../src/sources/upstream/upstreams.js'
import { demoStore } from '../../../unit/execution/evm/demoExecution.js'
import { openNode, optionsOf, toyChain } from '../upstream/toyNodes.js'

const wallet = new Wallet(`0x${'11'.repeat(32)}`)

async function sign(nonce: number, maxFeePerGas = 2): Promise<SentTransaction> {
  const to = `0x${'22'.repeat(20)}`
  const fees = { maxFeePerGas, maxPriorityFeePerGas: 1, gasLimit: 21_000 }
  const raw = await wallet.signTransaction({ type: 2, chainId: 7, nonce, to, ...fees })
  return checkSentTransaction(hexToBytes(raw), 'prague', 7n)
}

async function open(t: Test, bounds = sentBounds) {
  const said: string[] = []
  const upstreams = new Upstreams([optionsOf(await openNode(t))], { chain: toyChain, pollMs: 50, log() {} })
  const options = { bounds, nonceOf: async () => undefined, log: (text: string) => said.push(text) }
  const sent = new SentTransactions(demoStore, upstreams, options)
  t.teardown(() => {
    upstreams.close()
    return sent.close()
  })
  return { sent, said }
}

t.test('the oldest are forgotten where there are too many, which the operator is told', async (t) => {
  const first = await sign(0)
  for (const bounds of [
    { ...sentBounds, countMax: 2 },
    { ...sentBounds, bytesMax: 2 * first.raw.length },
  ]) {
    const { sent, said } = await open(t, bounds)
    const three = [first, await sign(1), await sign(2)]
    for (const tx of three) sent.add(tx)
    t.strictSame(
      three.map(({ hash }) => sent.find(hash) !== undefined),
      [false, true, true],
    )
    sent.onHead()
    t.match(said, [/^1 transactions that wait for a block are no longer remembered/])
  }
})

t.test('one that no block takes in time is given up', async (t) => {
  const { sent, said } = await open(t, { ...sentBounds, waitMsMax: 0 })
  const tx = await sign(0)
  sent.add(tx)
  t.ok(sent.find(tx.hash))
  sent.onHead()
  t.equal(sent.find(tx.hash), undefined)
  t.strictSame(said, [`transaction ${bytesToHex(tx.hash)} is given up: no block had it within 0 s`])
})

t.test('one replaces another with its nonce', async (t) => {
  const { sent } = await open(t)
  const cheap = await sign(0)
  const dear = await sign(0, 3)
  sent.add(cheap)
  sent.add(dear)
  t.equal(sent.find(cheap.hash), undefined)
  t.match(JSON.parse(Buffer.from(sent.find(dear.hash) ?? []).toString()), {
    blockHash: null,
    gasPrice: '0x3',
    hash: bytesToHex(dear.hash),
  })
})
