// @shares
/** State roots of simulated blocks with overridden accounts, computed once more by @ethereumjs/mpt from proofs. */
import { createMPT, createMPTFromProof } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import t from 'tap'
import { toMinimalBytes } from '../../../src/primitives/bytes.js'
import { addressOf, bytesOf, forkBlock, hex, type Json, keccak, quantity } from '../../rpc/demoChain.js'
import { checkBlocks, code, person, word } from '../../rpc/simulating.js'
import { startService } from '../../service/service.js'
import { returnTop } from '../../unit/execution/evm/assembly.js'

const service = await startService()
t.teardown(() => service.stop())
const tide = addressOf('Tide')
const bea = addressOf('bea')
const fresh = person('6')
const program = code('NUMBER', returnTop)
// Before Cancun no block begins with a system call, which would change accounts too.
const base = quantity(forkBlock('cancun') - 8)
const options = { useKeyHashing: true }

async function simulate(...overrides: readonly Json[]): Promise<Json[]> {
  const blockStateCalls = overrides.map((stateOverrides) => ({ stateOverrides }))
  const { result } = await service.call('eth_simulateV1', [{ blockStateCalls }, base])
  checkBlocks(t, result)
  return result
}

/** Root of a storage trie. */
async function rootOf(slots: Readonly<Record<number, number>>): Promise<Uint8Array> {
  const trie = await createMPT(options)
  for (const [slot, value] of Object.entries(slots)) {
    await trie.put(bytesOf(word(Number(slot))), RLP.encode(toMinimalBytes(value)))
  }
  return trie.root()
}

t.test('what overrides leave is in the state root, block after block', async (t) => {
  const { stateRoot } = (await service.call('eth_getBlockByNumber', [base, false])).result
  const proofs: Json[] = []
  for (const address of [tide, bea, fresh]) {
    proofs.push((await service.call('eth_getProof', [address, [], base])).result)
  }
  const [ofTide, ofBea] = proofs as [Json, Json]
  const nodes = proofs.map(({ accountProof }) => (accountProof as string[]).map(bytesOf))
  const accounts = await createMPTFromProof(nodes[0] as Uint8Array[], options)
  for (const node of nodes.flat()) await accounts.database().put(bytesOf(keccak(node)), node)
  t.equal(hex(accounts.root()), stateRoot)
  const put = (address: string, nonce: bigint, balance: bigint, root: Uint8Array, codeHash: unknown) =>
    accounts.put(
      bytesOf(address),
      RLP.encode([toMinimalBytes(nonce), toMinimalBytes(balance), root, bytesOf(codeHash as string)]),
    )
  const putTide = async (slots: Readonly<Record<number, number>>) =>
    put(
      tide,
      BigInt(ofTide.nonce as string),
      BigInt(ofTide.balance as string),
      await rootOf(slots),
      ofTide.codeHash,
    )
  const putFresh = async (slots: Readonly<Record<number, number>>) =>
    put(fresh, 0n, 0n, await rootOf(slots), keccak(bytesOf(program)))

  const first = {
    [tide]: { state: { [word(1)]: word(7), [word(8)]: word(0) } },
    [bea]: { nonce: '0x4d', balance: '0x58' },
    [fresh]: { code: program, stateDiff: { [word(2)]: word(9), [word(3)]: word(0) } },
  }
  await putTide({ 1: 7 })
  await put(bea, 0x4dn, 0x58n, bytesOf(ofBea.storageHash as string), ofBea.codeHash)
  await putFresh({ 2: 9 })
  const root = hex(accounts.root())
  t.match(await simulate(first, {}), [{ stateRoot: root }, { stateRoot: root }])

  const second = { [tide]: { stateDiff: { [word(5)]: word(6) } }, [fresh]: { state: {} } }
  await putTide({ 1: 7, 5: 6 })
  await putFresh({})
  t.match(await simulate(first, second), [{ stateRoot: root }, { stateRoot: hex(accounts.root()) }])

  const third = { [tide]: { state: { [word(1)]: word(7) } }, [fresh]: { stateDiff: { [word(2)]: word(1) } } }
  await putTide({ 1: 7 })
  await putFresh({ 2: 1 })
  const [, , last] = await simulate(first, second, third)
  t.equal(last?.stateRoot, hex(accounts.root()))
})
