import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Transaction } from 'ethers'
import t from 'tap'
import { checkSentTransaction } from '../../../../src/execution/evm/transactions/sentTransaction.js'
import { packageRoot } from '../../../../src/primitives/packageRoot.js'
import { poolJson } from '../../../../src/sources/ingest/transactions/poolContent.js'
import { bytesOf, type Json } from '../../../rpc/demoChain.js'

const folder = join(packageRoot(), '../shared/conformance/rpc-compat')
const skip = !existsSync(folder) && `there is no recording at ${folder}`

function answerOf(file: string) {
  const [line] = readFileSync(join(folder, file), 'utf8')
    .split('\n')
    .filter((each) => each.startsWith('<<'))
  return JSON.parse(line?.slice(3) ?? '').result
}

/** The signed bytes of a transaction, from its object. */
function signed({ input, gas, gasPrice, hash: _, from: __, ...rest }: Json): Uint8Array {
  const fees = rest.type === '0x0' || rest.type === '0x1' ? { gasPrice } : {}
  const parts = {
    type: Number(rest.type),
    nonce: Number(rest.nonce),
    to: rest.to,
    value: rest.value,
    data: input,
  }
  const { maxFeePerGas, maxPriorityFeePerGas, accessList, authorizationList, v, r, s, chainId } = rest as Json
  const { maxFeePerBlobGas, blobVersionedHashes } = rest as Json
  const tips = rest.type === '0x0' || rest.type === '0x1' ? {} : { maxFeePerGas, maxPriorityFeePerGas }
  const list = accessList === undefined ? {} : { accessList }
  const blobs = blobVersionedHashes === undefined ? {} : { maxFeePerBlobGas, blobVersionedHashes }
  const lists = { ...list, ...blobs, ...(authorizationList === undefined ? {} : { authorizationList }) }
  const signature = { v: v as string, r: r as string, s: s as string }
  const fields = { ...parts, ...fees, ...tips, ...lists, chainId, gasLimit: gas, signature }
  return bytesOf(Transaction.from(fields as never).serialized)
}

t.test('transactions are listed as in the recorded pool', { skip }, async (t) => {
  const recorded = answerOf('txpool_content/get-content.io')
  const chainId = BigInt(
    (Object.values(Object.values(recorded.pending)[0] as Json)[0] as Json).chainId as string,
  )
  const sent = Object.values(recorded.pending as Record<string, Json>).flatMap((own) =>
    (Object.values(own) as Json[])
      .filter(({ type, authorizationList }) => type !== '0x3' && authorizationList === undefined)
      .map((json) => checkSentTransaction(signed(json), 'prague', chainId)),
  )
  t.ok(sent.length > 2)
  const ask = async (question: 'content' | 'status', sender?: Uint8Array) =>
    JSON.parse(Buffer.from(await poolJson(question, sent, () => 0n, sender)).toString())
  const got = await ask('content')
  for (const [address, own] of Object.entries(got.pending as Record<string, Json>)) {
    t.strictSame(
      own,
      Object.fromEntries(Object.entries(own).map(([nonce]) => [nonce, recorded.pending[address][nonce]])),
    )
  }
  t.equal(Object.keys(got.pending).length, new Set(sent.map(({ sender }) => String(sender))).size)
  const { pending } = answerOf('txpool_status/get-status.io')
  t.ok(sent.length <= Number(pending))
  t.equal((await ask('status')).queued, '0x0')
  t.strictSame(
    await ask('content', new Uint8Array(20)),
    answerOf('txpool_contentFrom/get-content-from-address.io'),
  )
})
