/** Authorizations of EIP-7702 in calls and estimates, signed by code that is not under test. */
import t from 'tap'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type {
  AccountOverride,
  Authorization,
} from '../../../../src/execution/evm/messages/executionRequest.js'
import { bytesToBigInt, bytesToHex, concatBytes, hexToBytes } from '../../../../src/primitives/bytes.js'
import { assemble, returnTop } from './assembly.js'
import {
  addressOf,
  demoExecution,
  faultOf,
  goOn,
  type Message,
  requestOf,
  succeedsWith,
} from './demoExecution.js'

const demoChainId = 8433
/** Before Osaka no transaction's gas is bounded. */
const pragueTime = 1_735_691_883n
const delegate = addressOf(1)
const other = addressOf(2)
const codes: readonly AccountOverride[] = [
  { address: delegate, code: concatBytes(assemble(7), returnTop) },
  { address: other, code: concatBytes(assemble(9), returnTop) },
]
/** Gas of each authorization. For an existing account it is refunded, up to a fifth of all gas. */
const authorizationGas = 25_000n
const existingRefund = 12_500n
const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

interface Signer {
  readonly address: Uint8Array
  sign(
    to: Uint8Array,
    fields?: { readonly chainId?: number; readonly nonce?: number },
  ): Promise<Authorization>
}

/** An account that no chain knows. */
function makeSigner(): Signer {
  const account = privateKeyToAccount(generatePrivateKey())
  return {
    address: hexToBytes(account.address),
    async sign(to, { chainId = demoChainId, nonce = 0 } = {}) {
      const signed = await account.signAuthorization({ address: bytesToHex(to), chainId, nonce })
      return {
        chainId: BigInt(chainId),
        address: to,
        nonce: BigInt(nonce),
        yParity: signed.yParity as number,
        r: BigInt(signed.r),
        s: BigInt(signed.s),
      }
    },
  }
}

/** The result of a call of `to`, as an integer; 0 if there is none. */
async function resultOf(
  to: Uint8Array,
  authorizationList: readonly Authorization[] | undefined,
  message: Message = {},
  overrides: readonly AccountOverride[] = [],
): Promise<{ readonly value: bigint; readonly gasUsed: bigint }> {
  const list = authorizationList === undefined ? {} : { authorizationList }
  const request = requestOf({ to, ...list, ...message }, [...codes, ...overrides])
  const { failure, returnData, gasUsed } = await demoExecution.call(request, goOn)
  if (failure !== undefined) throw new Error(JSON.stringify(failure))
  return { value: bytesToBigInt(returnData), gasUsed }
}

t.test('an account runs the code that it has authorized, for this message alone', async (t) => {
  const signer = makeSigner()
  const { value, gasUsed } = await resultOf(signer.address, [await signer.sign(delegate)])
  t.equal(value, 7n)
  // PUSH1 7 PUSH1 0 MSTORE PUSH1 32 PUSH1 0 RETURN, and one word of memory. The delegate's code is warm.
  t.equal(gasUsed, 21_000n + authorizationGas + 18n)
  t.same(await resultOf(signer.address, [await signer.sign(delegate, { chainId: 0 })]), { value, gasUsed })
  const bare = await demoExecution.call(requestOf({ to: signer.address }, codes), goOn)
  t.equal(bytesToHex(bare.returnData), '0x')
})

t.test('an estimate runs that code, and suffices', async (t) => {
  const signer = makeSigner()
  const authorizationList = [await signer.sign(delegate)]
  const request = requestOf({ to: signer.address, authorizationList }, codes)
  const { gas, runs } = await demoExecution.estimate(request, goOn)
  t.equal(gas, 21_000n + authorizationGas + 18n)
  t.equal(runs, 1)
  t.ok(await succeedsWith(demoExecution, request, gas))
  t.notOk(await succeedsWith(demoExecution, request, gas - 1n))
})

t.test('an authorization that does not hold is paid for and skipped', async (t) => {
  const signer = makeSigner()
  const good = await signer.sign(delegate)
  const cases: readonly [what: string, authorization: Authorization][] = [
    ['another chain', await signer.sign(delegate, { chainId: 1 })],
    ['a nonce to come', await signer.sign(delegate, { nonce: 1 })],
    ['the last nonce of all', { ...good, nonce: 2n ** 64n - 1n }],
    ['a parity that is none', { ...good, yParity: 2 }],
    ['the other parity, which is the signature of somebody else', { ...good, yParity: 1 - good.yParity }],
    ['the greater s', { ...good, s: order - good.s, yParity: 1 - good.yParity }],
    ['r zero', { ...good, r: 0n }],
    ['s zero', { ...good, s: 0n }],
    ['r beyond the order', { ...good, r: order }],
    ['r of more than 256 bits', { ...good, r: 2n ** 256n }],
  ]
  for (const [what, authorization] of cases) {
    const { value, gasUsed } = await resultOf(signer.address, [authorization])
    t.same({ value, gasUsed }, { value: 0n, gasUsed: 21_000n + authorizationGas }, what)
    const request = requestOf({ to: signer.address, authorizationList: [authorization] }, codes)
    t.equal((await demoExecution.estimate(request, goOn)).gas, 21_000n + authorizationGas, what)
    const both = await resultOf(signer.address, [authorization, good])
    t.equal(both.value, 7n, `${what}, and one that holds after it`)
  }
})

t.test('the nonce is that of the account when its turn comes', async (t) => {
  const signer = makeSigner()
  const first = await signer.sign(delegate)
  const second = await signer.sign(other, { nonce: 1 })
  t.equal((await resultOf(signer.address, [first, second])).value, 9n, 'one after the other')
  t.equal((await resultOf(signer.address, [second, first])).value, 7n, 'the second too early')
  const used: AccountOverride = { address: signer.address, nonce: 1n }
  t.equal((await resultOf(signer.address, [first], {}, [used])).value, 0n)
  t.equal((await resultOf(signer.address, [second], {}, [used])).value, 9n)
  const asSender: Message = { from: signer.address }
  t.equal((await resultOf(signer.address, [first], asSender)).value, 0n, 'a sender has used up its own')
  t.equal((await resultOf(signer.address, [second], asSender)).value, 9n)
})

t.test('an account that exists costs less, a contract stays one, zeros end a delegation', async (t) => {
  const signer = makeSigner()
  const list = [await signer.sign(delegate)]
  const { gasUsed: fresh } = await resultOf(signer.address, list)
  const { gasUsed: known } = await resultOf(signer.address, list, {}, [
    { address: signer.address, balance: 1n },
  ])
  t.equal(fresh - known, fresh / 5n < existingRefund ? fresh / 5n : existingRefund)
  const code = concatBytes(assemble(5), returnTop)
  t.equal((await resultOf(signer.address, list, {}, [{ address: signer.address, code }])).value, 5n)
  const delegated = { address: signer.address, code: concatBytes(Uint8Array.of(0xef, 1, 0), other) }
  t.equal((await resultOf(signer.address, undefined, {}, [delegated])).value, 9n)
  t.equal((await resultOf(signer.address, list, {}, [delegated])).value, 7n)
  const end = await signer.sign(new Uint8Array(20))
  t.equal((await resultOf(signer.address, [end], {}, [delegated])).value, 0n)
})

t.test('accounts that authorize are in no access list unless their slots are touched', async (t) => {
  const signer = makeSigner()
  const reader = addressOf(3)
  const code = assemble(bytesToBigInt(signer.address), 'BALANCE')
  const request = requestOf({ to: reader, authorizationList: [await signer.sign(delegate)] }, [
    ...codes,
    { address: reader, code },
  ])
  t.same((await demoExecution.accessList(request, goOn)).accessList, [])
  const touching = requestOf({ to: signer.address, authorizationList: [await signer.sign(delegate)] }, [
    { address: delegate, code: assemble(4, 'SLOAD') },
  ])
  const { accessList } = await demoExecution.accessList(touching, goOn)
  t.same(
    accessList.map(({ address, storageKeys }) => [bytesToHex(address), storageKeys.map(bytesToBigInt)]),
    [[bytesToHex(signer.address), [4n]]],
  )
})

t.test('signers are looked for where the gas pays for them, and only until the job is to stop', async (t) => {
  // Each authorization has a signature of its own, of some key.
  const list = Array.from({ length: 14_000 }, (_, at) => ({
    chainId: 0n,
    address: delegate,
    nonce: 0n,
    yParity: at % 2,
    r: BigInt(at + 1),
    s: 1n,
  }))
  for (const ask of ['call', 'estimate', 'accessList'] as const) {
    let asked = 0
    const request = requestOf({ to: other, authorizationList: list })
    const dear = demoExecution[ask](request, () => ++asked < 0)
    t.match(await faultOf(dear), { kind: /^(MessageRefused|GasExceedsAllowance)$/ }, ask)
    t.ok(asked < 10, `${ask}: nothing was recovered, ${asked} looks`)
    asked = 0
    const rest = { gasDefault: 2n ** 40n, gasMax: 2n ** 40n, blockOverrides: { time: pragueTime } }
    const long = demoExecution[ask](
      requestOf({ to: other, authorizationList: list }, [], rest),
      () => ++asked > 50,
    )
    t.match(await faultOf(long), { kind: 'ExecutionTimedOut' }, ask)
    t.ok(asked < 55, `${ask}: ${asked} looks`)
  }
})
