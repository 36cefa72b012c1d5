/**
 * Signatures for the rich accounts of a developer chain, made by its source (ingest/develop/signer.ts). On other
 * networks this node signs for no account.
 */
import { transactionGasMax } from '../../../data/chain/intrinsicGas.js'
import { bytesToHex, toQuantity } from '../../../primitives/bytes.js'
import { messageRefused } from '../../../primitives/faults.js'
import type { SigningMethod } from '../../../primitives/upstreamCalls.js'
import { UncacheableResult } from '../method.js'
import { chainMethod, type Network } from '../network.js'
import { type CallObject, callObject } from '../params/callParams.js'
import { address, bytes, invalidArgument, optional, required, text } from '../params/params.js'
import { addressSchema, bytesSchema, hashSchema, listSchema, textSchema } from '../params/schema.js'
import { fillMethods } from './fill.js'

/** The price is that of a passed-on call. */
const signing = { cost: 'job', isRelayed: true, price: 50 } as const
const signature = { ...signing, result: bytesSchema } as const

/** Clients send it as an object, or as JSON of one. */
const typedData = required(
  (value, index): unknown => {
    if (typeof value !== 'string') return value
    try {
      return JSON.parse(value)
    } catch {
      throw invalidArgument(index, 'want typed data (EIP-712) as an object, or as JSON of one')
    }
  },
  { anyOf: [{ type: 'object', title: 'typed data (EIP-712)' }, textSchema] },
)

/**
 * Asks the source to sign and returns its JSON. Rejects with FaultError MessageRefused for an account without a known
 * key.
 */
async function askSigner(
  { signsForAccounts, upstreamCalls, limits }: Network,
  method: SigningMethod,
  account: Uint8Array,
  ...params: readonly unknown[]
): Promise<UncacheableResult> {
  const owner = bytesToHex(account)
  if (!signsForAccounts || upstreamCalls === undefined) {
    throw messageRefused(
      `unknown account ${owner}: this node has no key for it; sign elsewhere, and send it with eth_sendRawTransaction`,
    )
  }
  const sent = JSON.stringify([owner, ...params])
  if (method === 'eth_signTypedData_v4' && sent.length > limits.typedDataCharsMax)
    throw messageRefused(`typed data has at most ${limits.typedDataCharsMax} characters as JSON`)
  return new UncacheableResult(await upstreamCalls.relay(method, sent))
}

/** The arguments of a run of {@link fillMethods} after the network and the parameters. */
type RestOfRun =
  Parameters<typeof fillMethods.eth_fillTransaction.run> extends [unknown, unknown, ...infer R] ? R : never

function senderOf({ message }: CallObject): Uint8Array {
  if (message.from === undefined) throw invalidArgument(0, 'missing "from", the account that signs')
  return message.from
}

/** The transaction with all missing members filled in, as EIP-2718 bytes without a signature, and its nonce. */
async function fill(
  network: Network,
  call: CallObject,
  rest: RestOfRun,
): Promise<{ readonly raw: string; readonly nonce: string; readonly gas: string }> {
  const [, , whenStored] = rest
  const filled = await whenStored(() => fillMethods.eth_fillTransaction.run(network, [call], ...rest))
  const { raw, tx } = JSON.parse(Buffer.from(filled as Uint8Array).toString('utf8'))
  return { raw, nonce: tx.nonce, gas: tx.gas }
}

/**
 * Hardhat's signers name a block's whole gas limit, or the most of a transaction (EIP-7825), in place of an estimate.
 * They expect a revert as the answer. So such a call is estimated, and sent with the most gas that a transaction can
 * have. With the estimate alone, an inner call could run out of gas, and the outer call would continue.
 */
async function fillWithoutEstimate(
  network: Network,
  call: CallObject,
  rest: RestOfRun,
): Promise<{ readonly raw: string }> {
  const { gas: given = 0n, ...message } = call.message
  if (given < transactionGasMax) return fill(network, call, rest)
  const estimated = await fill(network, { ...call, message }, rest)
  const gas = BigInt(estimated.gas) > transactionGasMax ? given : transactionGasMax
  return fill(network, { ...call, message: { ...message, gas } }, rest)
}

async function sendFilled(
  method: 'eth_sendTransaction' | 'eth_sendUnsignedTransaction',
  network: Network,
  call: CallObject,
  rest: RestOfRun,
): Promise<UncacheableResult> {
  const from = senderOf(call)
  // Refuses an unknown account before an estimate does so for its lack of money.
  if (!network.signsForAccounts || method === 'eth_sendTransaction') await askSigner(network, method, from)
  const { raw } = await fillWithoutEstimate(network, call, rest)
  const { nonce } = call.message
  const chosen = nonce === undefined ? [] : [toQuantity(nonce)]
  return askSigner(network, method, from, raw, ...chosen)
}

export const signingMethods = {
  eth_accounts: chainMethod({
    ...signing,
    summary: 'Accounts that this node signs for: the rich ones of a developer chain, elsewhere none',
    price: 1,
    result: listSchema(addressSchema),
    run({ signsForAccounts, upstreamCalls }) {
      if (!signsForAccounts || upstreamCalls === undefined) return '[]'
      return upstreamCalls.relay('eth_accounts', '[]').then((json) => new UncacheableResult(json))
    },
  }),
  /**
   * Missing members are filled in as by eth_fillTransaction. The signer chooses the nonce, so that two concurrent
   * transactions get two nonces.
   */
  eth_sendTransaction: chainMethod({
    ...signing,
    summary: 'Hash of a transaction that is filled in, signed and sent, on a developer chain',
    params: [callObject.as('transaction')],
    effect: true,
    price: 200,
    result: hashSchema,
    run: (network, [call], ...rest) => sendFilled('eth_sendTransaction', network, call, rest),
  }),
  eth_sendUnsignedTransaction: chainMethod({
    ...signing,
    summary: 'As eth_sendTransaction for any account, whose key is not needed, on a developer chain',
    params: [callObject.as('transaction')],
    effect: true,
    price: 200,
    result: hashSchema,
    run: (network, [call], ...rest) => sendFilled('eth_sendUnsignedTransaction', network, call, rest),
  }),
  eth_signTransaction: chainMethod({
    ...signature,
    summary: 'A transaction that is filled in and signed, not sent, on a developer chain',
    params: [callObject.as('transaction')],
    price: 200,
    async run(network, [call], ...rest) {
      const from = senderOf(call)
      if (!network.signsForAccounts) return askSigner(network, 'eth_signTransaction', from)
      const { raw, nonce } = await fill(network, call, rest)
      return askSigner(network, 'eth_signTransaction', from, raw, nonce)
    },
  }),
  eth_sign: chainMethod({
    ...signature,
    summary: 'Signature of a message (EIP-191) by an account of a developer chain',
    params: [address.as('address'), bytes.as('message')],
    run: (network, [account, message]) => askSigner(network, 'eth_sign', account, bytesToHex(message)),
  }),
  eth_signTypedData_v4: chainMethod({
    ...signature,
    summary: 'Signature of typed data (EIP-712) by an account of a developer chain',
    params: [address.as('address'), typedData.as('typedData')],
    run: (network, [account, typed]) => askSigner(network, 'eth_signTypedData_v4', account, typed),
  }),
  /** No password is needed. */
  personal_sign: chainMethod({
    ...signature,
    summary: 'As eth_sign, with the message first',
    params: [bytes.as('message'), address.as('address'), optional(text('a password')).as('password')],
    run: (network, [message, account]) => askSigner(network, 'eth_sign', account, bytesToHex(message)),
  }),
}
