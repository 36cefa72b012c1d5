/** Reads of clients of the OP Stack: viem's `op-stack` with its formatters and actions, and ethers. */
import { JsonRpcProvider } from 'ethers'
import type { Test } from 'tap'
import { createPublicClient, defineChain, http, parseEther } from 'viem'
import { chainConfig, publicActionsL2 } from 'viem/op-stack'
import type { Json, OptimismBlock } from '../ingest/optimismChain.js'

/** Blocks are of op-geth's chain, which `url` serves; `numbers` are the blocks to read. */
export async function readByClients(
  t: Test,
  url: string,
  chainId: number,
  blocks: readonly OptimismBlock[],
  numbers: readonly number[],
): Promise<void> {
  const nativeCurrency = { name: 'Ether', symbol: 'ETH', decimals: 18 }
  const chain = defineChain({
    ...chainConfig,
    id: chainId,
    name: 'op',
    nativeCurrency,
    rpcUrls: { default: { http: [url] } },
  })
  const client = createPublicClient({ chain, transport: http(url) }).extend(publicActionsL2())
  const provider = new JsonRpcProvider(url, chainId, { staticNetwork: true })
  t.teardown(() => provider.destroy())
  const seen = new Set<string>()
  for (const number of numbers) {
    const { block, receipts } = blocks[number] as OptimismBlock
    const read = await client.getBlock({ blockNumber: BigInt(number), includeTransactions: true })
    t.equal(read.hash, block.hash)
    const fromEthers = await provider.getBlock(number)
    t.equal(fromEthers?.hash, block.hash)
    for (const [index, wanted] of block.transactions.entries()) {
      const transaction = read.transactions[index] as (typeof read.transactions)[number]
      t.equal(transaction.hash, wanted.hash)
      seen.add(String(transaction.type))
      if (wanted.type === '0x7e') {
        t.equal(transaction.type, 'deposit')
        t.match(transaction, { sourceHash: wanted.sourceHash, mint: mintOf(wanted) })
        t.equal(transaction.isSystemTx ?? false, wanted.isSystemTx ?? false)
      } else t.equal(transaction.maxFeePerGas ?? transaction.gasPrice, BigInt(feeOf(wanted)))
      const receipt = await client.getTransactionReceipt({ hash: transaction.hash })
      const raw = receipts[index] as Json
      for (const member of ['l1Fee', 'l1GasPrice', 'l1GasUsed'] as const) {
        const reported = raw[member]
        t.equal(
          receipt[member],
          reported === undefined ? null : BigInt(String(reported)),
          `${number}.${index} ${member}`,
        )
      }
      t.equal(receipt.status, raw.status === '0x1' ? 'success' : 'reverted')
      const byEthers = await provider.getTransactionReceipt(transaction.hash)
      t.equal(byEthers?.gasUsed, BigInt(String(raw.gasUsed)))
    }
  }
  t.ok(
    ['deposit', 'legacy', 'eip1559'].every((type) => seen.has(type)),
    [...seen].join(),
  )
  const [sender] = (blocks.at(-1) as OptimismBlock).block.transactions.slice(-1)
  const asked = {
    account: String(sender?.from) as `0x${string}`,
    to: `0x${'11'.repeat(20)}` as const,
    value: 1n,
  }
  const l1Fee = await client.estimateL1Fee(asked)
  const total = await client.estimateTotalFee(asked)
  t.ok(l1Fee > 0n && total > l1Fee && total < parseEther('1'), `${l1Fee} of ${total}`)
}

/** viem omits an empty mint. */
const mintOf = ({ mint }: Json) => (mint === undefined ? undefined : BigInt(String(mint)))
const feeOf = ({ maxFeePerGas, gasPrice }: Json) => String(maxFeePerGas ?? gasPrice)
