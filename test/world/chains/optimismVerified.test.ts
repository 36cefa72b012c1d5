/**
 * Answers of an OP Stack chain that can be checked without the chain. Checks proofs of deposits, other transactions and
 * receipts before and since Canyon, witnesses, simulations and traces. Skipped without the chain.
 */
import t from 'tap'
import { decodeHeader } from '../../../src/data/chain/header.js'
import { readRules } from '../../../src/execution/evm/blocks/blockContext.js'
import { BlockExecutor } from '../../../src/execution/evm/blocks/executeBlock.js'
import { RecoveredKeys } from '../../../src/execution/evm/transactions/recoveredKeys.js'
import { bytesToHex, type Hash32, hexToBytes } from '../../../src/primitives/bytes.js'
import { VerifyError, verify } from '../../../src/verify/verify.js'
import { TracedChain } from '../../chains/tracedChains.js'
import { type Json, type OptimismBlock, optimismBlocks, skipsOptimism } from '../../ingest/optimismChain.js'
import { serveOptimism } from '../../ingest/optimismServed.js'
import { makeFolder } from '../../library/folder.js'
import { type Witness, witnessState } from '../../library/witnessState.js'
import { storePathOf } from '../../service/program.js'

type Accounts = Readonly<Record<string, { readonly balance?: string }>>
/** The first block of each fork. */
const forks = [20, 48, 80, 106, 130, 162, 204]
const quantity = (value: number) => `0x${value.toString(16)}`
/** Members that follow from other transactions, or from data stored beside receipts. */
const ofFees = /^(l1|operatorFee|daFootprint|blobGas)/
const without = (object: Json, left: (name: string) => boolean) =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !left(name)))

/** Fees for L1 and the operator, in wei, by the specification and the parameters of the receipt. */
function feesOf({ l1Fee, gasUsed, operatorFeeScalar, operatorFeeConstant }: Json, number: number): bigint {
  const [l1, gas, scalar, constant] = [l1Fee, gasUsed, operatorFeeScalar, operatorFeeConstant].map((value) =>
    BigInt(String(value ?? '0x0')),
  ) as [bigint, bigint, bigint, bigint]
  const isJovian = number >= (forks.at(-1) as number)
  return l1 + (isJovian ? gas * scalar * 100n : (gas * scalar) / 1_000_000n) + constant
}

/** The result without one member, a different one in each turn. */
function changed(result: unknown, turn: number): unknown {
  if (typeof result !== 'object' || result === null) return '0x77'
  const names = Object.keys(result)
  return without(result as Json, (name) => name === names[turn % names.length])
}

t.test('a chain of the OP Stack', { skip: skipsOptimism }, async (t) => {
  const folder = makeFolder(t)
  const service = await serveOptimism(t, 'a', folder)
  t.teardown(() => service.stop())
  const chain = new TracedChain(storePathOf(folder, 'optimism'))
  t.teardown(() => chain.store.close())
  const blocks = optimismBlocks('a')
  const ask = async (method: string, ...params: readonly unknown[]) => {
    const { result, error } = await service.call(method, params)
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result
  }

  await t.test('answers are proved from the hash of a block', async (t) => {
    let turn = 0
    const proved = { deposits: 0, creations: 0, others: 0, logs: 0 }
    for (const number of [1, 5, 19, 20, 25, 48, 60, 102, 130, 162, 175, 204, 210, 215, 240]) {
      const { block, receipts } = blocks[number] as OptimismBlock
      const verified = async (method: string, ...params: readonly unknown[]) => {
        const answer = await ask('tidegate_getVerified', method, params)
        const question = { method, params, blockHash: block.hash }
        const flipped = { ...answer, result: changed(answer.result, turn++) }
        t.throws(() => verify(flipped, question), VerifyError)
        return verify(answer, question)
      }
      for (const [index, transaction] of block.transactions.entries()) {
        const at = quantity(index)
        const receipt = receipts[index] as Json
        const isDeposit = transaction.type === '0x7e'
        const isReported = isDeposit && receipt.depositReceiptVersion === undefined
        const wanted = without(
          transaction,
          (name) => isDeposit && ['nonce', 'depositReceiptVersion'].includes(name),
        )
        t.same(await verified('eth_getTransactionByBlockHashAndIndex', block.hash, at), wanted)
        const kept = without(
          receipt,
          (name) => ofFees.test(name) || (isReported && ['depositNonce', 'contractAddress'].includes(name)),
        )
        t.same(await verified('eth_getTransactionReceipt', quantity(number), at), kept)
        proved[isDeposit ? 'deposits' : 'others']++
        if (isDeposit && receipt.contractAddress !== null) proved.creations++
        const logs = receipt.logs as readonly Json[]
        if (logs.length === 0) continue
        t.same(await verified('eth_getLogs', quantity(number), at, '0x0'), logs[0])
        proved.logs++
      }
      const passer = '0x4200000000000000000000000000000000000016'
      t.equal(
        await verified('eth_getBalance', passer, block.hash),
        await ask('eth_getBalance', passer, block.hash),
      )
      const slot = await ask(
        'eth_getStorageAt',
        '0x4200000000000000000000000000000000000015',
        '0x3',
        block.hash,
      )
      t.equal(
        await verified('eth_getStorageAt', '0x4200000000000000000000000000000000000015', '0x3', block.hash),
        slot,
      )
    }
    t.comment(JSON.stringify(proved))
    t.ok(Object.values(proved).every((count) => count > 2))
  })

  await t.test('blocks can be executed from their witnesses alone', async (t) => {
    const { schedule } = readRules(chain.store)
    const executor = new BlockExecutor(schedule, new RecoveredKeys())
    const numbers = [...forks.flatMap((fork) => [fork - 1, fork, fork + 1]), 3, 102, 167, 173, 200, 210, 240]
    for (const number of numbers) {
      const witness: Witness = await ask('debug_executionWitness', quantity(number))
      const hash = hexToBytes(blocks[number]?.block.hash ?? '') as Hash32
      const header = decodeHeader(chain.store.readHeader(hash) as Uint8Array)
      const parent = decodeHeader(chain.store.readHeader(header.parentHash) as Uint8Array)
      const hashOf = (asked: number) => {
        const found = witness.headers.find((each) => Number(each.number) === asked)
        if (found === undefined) throw new Error(`header ${asked} is not in the witness of block ${number}`)
        return hexToBytes(found.hash) as Hash32
      }
      const state = witnessState(witness, parent.stateRoot, header.parentHash)
      const made = executor.execute(chain.itemsOf(hash), schedule.forkOf(header), state, hashOf)
      t.equal(bytesToHex(made.changes.stateRoot), bytesToHex(header.stateRoot), `state of block ${number}`)
      t.equal(bytesToHex(made.receiptsRoot), bytesToHex(header.receiptsRoot))
      if (made.withdrawalsRoot !== undefined) {
        t.equal(bytesToHex(made.withdrawalsRoot), bytesToHex(header.withdrawalsRoot as Hash32))
      }
    }
  })

  await t.test('transactions that are simulated use the gas of their receipts', async (t) => {
    let compared = 0
    // On the first block of Jovian nothing can be simulated, as in op-geth: its attributes lack the footprint's price.
    for (const { number, block, receipts } of blocks.slice(1).filter(({ number }) => number !== 205)) {
      const signed = block.transactions.filter(({ type }) => type !== '0x7e')
      // Other deposits change accounts. The deposit of the attributes changes only its own contract.
      if (block.transactions.length - signed.length !== 1 || signed.some(({ type }) => type === '0x4'))
        continue
      const calls = signed.map(({ from, to, gas, value, input, nonce, type, accessList, ...fees }) => {
        const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = fees
        const paid = maxFeePerGas === undefined ? { gasPrice } : { maxFeePerGas, maxPriorityFeePerGas }
        return { from, to, gas, value, input, nonce, ...paid, ...(type !== '0x0' && { accessList }) }
      })
      const {
        gasLimit,
        miner: feeRecipient,
        timestamp: time,
        mixHash: prevRandao,
        baseFeePerGas,
      } = block as Json
      const blockOverrides = { gasLimit, feeRecipient, time, prevRandao, baseFeePerGas }
      const [made] = await ask(
        'eth_simulateV1',
        { blockStateCalls: [{ blockOverrides, calls }] },
        quantity(number - 1),
      )
      const wanted = receipts
        .slice(1)
        .map(({ status, gasUsed, logs }) => [status, gasUsed, (logs as []).length])
      const found = made.calls.map(({ status, gasUsed, logs }: Json) => [
        status,
        gasUsed,
        (logs as []).length,
      ])
      t.strictSame(found, wanted, `block ${number}`)
      compared += wanted.length
    }
    t.ok(compared > 50, `${compared} transactions`)
  })

  await t.test('traces agree, and no ether comes or goes but what deposits mint', async (t) => {
    const options = { diffMode: true, disableCode: true, disableStorage: true, includeEmpty: false }
    const balance = (accounts: Accounts, address: string) => BigInt(accounts[address]?.balance ?? 0)
    for (const { number, block, receipts } of blocks.slice(1)) {
      const hash = hexToBytes(block.hash)
      const top = chain.trace(hash, { tracer: 'callTracer', onlyTopCall: true, withLog: false })
      const diffs: { pre: Accounts; post: Accounts }[] = chain.trace(hash, {
        tracer: 'prestateTracer',
        ...options,
      })
      const flat: Json[] = await ask('trace_block', quantity(number))
      for (const [index, transaction] of block.transactions.entries()) {
        t.equal(BigInt(top[index].gasUsed), BigInt(String(receipts[index]?.gasUsed)))
        const own = flat.filter(({ transactionPosition }) => transactionPosition === index)
        t.strictSame(own[0]?.traceAddress, [], 'its outermost call comes first')
        const { pre, post } = diffs[index] as (typeof diffs)[number]
        // Unchanged accounts are in neither object; a removed account has no balance afterwards.
        const moved = Object.keys({ ...pre, ...post }).reduce((sum, address) => {
          const isGone = post[address] === undefined
          const after =
            isGone || post[address]?.balance !== undefined ? balance(post, address) : balance(pre, address)
          return sum + after - balance(pre, address)
        }, 0n)
        const minted = BigInt(String(transaction.mint ?? '0x0'))
        // As in op-geth, the receivers of the fees of L1 and of the operator are not among the accounts.
        t.equal(
          moved,
          minted - feesOf(receipts[index] as Json, number),
          `transaction ${index} of block ${number}`,
        )
      }
    }
  })
})
