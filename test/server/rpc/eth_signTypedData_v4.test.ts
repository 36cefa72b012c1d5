import { JsonRpcProvider, verifyTypedData } from 'ethers'
import t from 'tap'
import { askResults, checkRefusals } from '../../rpc/questions.js'
import { ada, other, owner, startSigners, stranger, unknownElsewhere, walletOf } from '../../rpc/signers.js'
import { startService } from '../../service/service.js'

const method = 'eth_signTypedData_v4'

const types = {
  Person: [
    { name: 'name', type: 'string' },
    { name: 'wallets', type: 'address[]' },
  ],
  Mail: [
    { name: 'from', type: 'Person' },
    { name: 'to', type: 'Person[2]' },
    { name: 'contents', type: 'string' },
    { name: 'amount', type: 'int64' },
    { name: 'tag', type: 'bytes4' },
    { name: 'data', type: 'bytes' },
    { name: 'isRead', type: 'bool' },
  ],
}
const domain = { name: 'Ether Mail', version: '1', chainId: 7357, verifyingContract: stranger }
const message = {
  from: { name: 'Cow', wallets: [stranger] },
  to: [
    { name: 'Bob', wallets: [] },
    { name: 'Bea', wallets: [stranger, owner.address] },
  ],
  contents: 'Hello, Bob! ✓',
  amount: -5,
  tag: '0x01020304',
  data: '0x1234',
  isRead: false,
}
const typed = { domain, types, primaryType: 'Mail', message }

t.test('the signature is the one that viem makes of the same key, and ethers checks', async (t) => {
  const service = await startSigners(t)
  const signature = await walletOf(service, owner.address).signTypedData(typed as never)
  t.equal(signature, await owner.signTypedData(typed as never))
  t.equal(verifyTypedData(domain, types, message, signature), owner.address)
  const [ofObject] = await askResults(service, [[method, [owner.address, typed]]])
  t.equal(ofObject, signature, 'as an object or as its text, with or without the type of the domain')
  const provider = new JsonRpcProvider(service.origin)
  t.teardown(() => provider.destroy())
  const byEthers = await (await provider.getSigner(other.address)).signTypedData(domain, types, message)
  t.equal(byEthers, await other.signTypedData(typed as never))

  const noTyped = 'this is no typed data (EIP-712): '
  await checkRefusals(t, service, method, [
    [
      [owner.address, '{'],
      -32602,
      'invalid argument 1: want typed data (EIP-712) as an object, or as JSON of one',
    ],
    [[owner.address, { ...typed, primaryType: 'Post' }], -32000, `${noTyped}wrong primaryType`],
    [[owner.address, []], -32000, `${noTyped}wrong message`],
  ])
})

t.test('typed data of any size and form is refused briefly, before it is computed with', async (t) => {
  const service = await startSigners(t)
  const digits = '9'.repeat(4_000_000)
  const number = (amount: unknown) => ({ ...typed, message: { ...message, amount } })
  const long: readonly unknown[] = [
    ...[number(digits), number(`0x${digits}`), number([digits]), { ...typed, domain: { name: digits } }],
    ...[
      { ...typed, types: { ...types, [digits]: [] } },
      { ...typed, primaryType: digits },
    ],
    JSON.stringify(number(digits)),
  ]
  for (const each of long) {
    const { error } = await service.call(method, [owner.address, each])
    t.strictSame(error, { code: -32000, message: 'typed data has at most 131072 characters as JSON' })
  }
  const some = '9'.repeat(100_000)
  for (const each of [number(some), number(`-${some}`), number([some]), number({ a: some })]) {
    const { error } = await service.call(method, [owner.address, each])
    t.match(error, { code: -32000, message: /^this is no typed data/ })
    t.ok((error?.message.length ?? 0) < 300, `${error?.message.length} characters`)
  }
  // The longest text that is signed.
  const text = { ...typed, message: { ...message, contents: 'x'.repeat(120_000) } }
  t.match(await service.call(method, [owner.address, text]), {
    result: await owner.signTypedData(text as never),
  })
})

t.test('elsewhere nothing is signed', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  await checkRefusals(t, service, method, [[[ada, typed], -32000, unknownElsewhere(ada)]])
})

t.test('the configuration says how much is signed', async (t) => {
  const service = await startSigners(t, undefined, { typedDataCharsMax: 4_096 })
  const text = (length: number) => ({ ...typed, message: { ...message, contents: 'x'.repeat(length) } })
  t.match(await service.call(method, [owner.address, text(1_000)]), { result: String })
  const { error } = await service.call(method, [owner.address, text(4_096)])
  t.strictSame(error, { code: -32000, message: 'typed data has at most 4096 characters as JSON' })
})
