/** The Merge to Cancun: no more miners, then withdrawals, transient storage and blobs. */
import type { KZG } from 'micro-eth-signer/kzg.js'
import { bytesToHex, type Hex, hexToBytes, padLeft, toMinimalBytes } from '../../../src/primitives/bytes.js'
import { people, stranger, textHash } from '../accounts.js'
import { blobOf, pointEvaluationInput, versionedHash } from '../blobs.js'
import { everydayTransaction, passTimeUntil } from '../everyday.js'
import { blockTimestamp, forkBlocks } from '../forks.js'
import { mappingSlot, plainSlot } from '../storageSlots.js'
import type { Story } from '../story.js'
import { systemAddress } from '../systemContracts.js'
import { phoenixSalt } from './phoenix.js'

const { ada, cal, dot, eve, fay, gus } = people

async function tellMerge(story: Story): Promise<void> {
  everydayTransaction(story)
  story.call(cal, 'Chronicle', 'record(uint256)', [120], { gas: 500_000n })
  await story.mine(
    'the Merge',
    'First block of proof of stake: difficulty 0, no reward; opcode 0x44 gives randomness.',
  )
  const entry = mappingSlot(story.number - 1, 1)
  story.slot({
    label: 'randomness, as chronicled',
    contract: 'Chronicle',
    slot: entry,
    how: 'keccak256(block ‖ 1): byBlock[block].randomness',
    value: story.chain.head.header.prevRandao,
  })
  story.transfer(ada, stranger(2000), 1n, {
    label: 'one wei',
    note: 'The smallest transfer, to a new account.',
  })
  await story.mine('one wei', 'A new account with a single wei.')
  await passTimeUntil(story, forkBlocks.shanghai)
}

async function tellShanghai(story: Story): Promise<void> {
  everydayTransaction(story)
  const withdrawal = (index: number, to: Uint8Array, amount: number) => ({
    index,
    validatorIndex: 7 + index,
    address: bytesToHex(to),
    amount,
  })
  await story.mine(
    'first withdrawals',
    'Four withdrawals: to a rich account, a new one, a contract, and one of nothing.',
    {
      withdrawals: [
        withdrawal(0, ada.address, 32_000_000_000),
        withdrawal(1, stranger(2001).address, 1),
        withdrawal(2, hexToBytes(story.at('Vault')), 5_000_000_000),
        withdrawal(3, stranger(2002).address, 0),
      ],
    },
  )
  story.skipWithdrawals(4)
  await story.mine('no withdrawals', 'Empty in every respect, the list of withdrawals too.', {
    withdrawals: [],
  })
  story.send(eve, {
    data: hexToBytes('5f5f5500'), // PUSH0 PUSH0 SSTORE STOP
    gas: 100_000n,
    label: 'PUSH0',
    note: 'Opcode 0x5f of EIP-3855, in a creation.',
  })
  await story.mine('PUSH0', 'A creation uses the new opcode.')
  const sixteen = Array.from({ length: 16 }, (_, i) =>
    withdrawal(4 + i, stranger(1000 + i).address, 1_000_000 + i),
  )
  story.skipWithdrawals(16)
  await story.mine('sixteen withdrawals', 'As many as a block of the public network can hold.', {
    withdrawals: sixteen,
  })
  await passTimeUntil(story, forkBlocks.cancun)
}

async function tellBlobs(story: Story, kzg: KZG): Promise<void> {
  const blobs = ['At ebb the sand is wide.', 'At flood the gate is shut.', 'Between them lies the lock.'].map(
    blobOf,
  )
  const hashes = blobs.map((blob) => versionedHash(kzg, blob))
  const [first, second, third] = hashes as [Hex, Hex, Hex]
  story.send(gus, {
    to: ada.hex,
    type: 3,
    gas: 21_000n,
    blobHashes: [first],
    label: 'first blob',
    note: 'Type 3 with one blob.',
  })
  await story.mine('first blob', 'A transaction that carries a blob.')
  story.call(gus, 'Latch', 'noteBlob()', [], {
    type: 3,
    blobHashes: [second, third],
    label: 'blob hash in the EVM',
    note: 'Two blobs; the contract keeps the hash of the first and the price of blob gas.',
  })
  story.send(gus, {
    to: story.at('Reverter'),
    data: textHash('withBareError()').subarray(0, 4),
    type: 3,
    blobHashes: [first],
    fails: true,
    label: 'blob and failure',
    note: 'The call reverts, the blob is paid for all the same.',
  })
  await story.mine('three blobs', 'Two transactions with three blobs; one of them fails.')
  story.slot({
    label: 'blob hash',
    contract: 'Latch',
    slot: plainSlot(2),
    how: 'slot 2, blobHash',
    value: BigInt(second),
  })
  story.slot({
    label: 'price of blob gas',
    contract: 'Latch',
    slot: plainSlot(3),
    how: 'slot 3, blobBaseFee',
  })
  const point = `0x${'0a'.padStart(40, '0')}` as const
  const input = pointEvaluationInput(kzg, blobs[0] as Hex, 5n)
  story.send(gus, {
    to: point,
    data: input,
    gas: 200_000n,
    label: 'point evaluation',
    note: 'Precompile 10 verifies a KZG proof.',
  })
  const spoilt = input.slice()
  spoilt[95] = (spoilt[95] as number) ^ 1
  story.send(gus, {
    to: point,
    data: spoilt,
    gas: 200_000n,
    fails: true,
    label: 'point evaluation, false',
    note: 'The proof is for another value.',
  })
  await story.mine('point evaluation', 'A KZG proof is verified, and a false one refused.')
  for (let block = 0; block < 4; block++) {
    story.send(gus, {
      to: ada.hex,
      type: 3,
      gas: 21_000n,
      blobHashes: [first, second, third, first, second, third],
    })
    await story.mine(
      block === 3 ? 'excess blob gas' : '',
      block === 3 ? 'The fourth block with as many blobs as are allowed; excess blob gas has piled up.' : '',
    )
  }
}

async function tellCancun(story: Story, kzg: KZG): Promise<void> {
  story.deploy(fay, 'Latch', 'Latch', 'Transient storage and blob fields.')
  await story.mine('Cancun', 'Latch, which uses transient storage, is deployed.')
  story.call(fay, 'Latch', 'open(uint256)', [2], {
    label: 'transient lock',
    note: 'It opens once and is refused once.',
  })
  const root = padLeft(toMinimalBytes(blockTimestamp(story.number)), 32)
  story.send(fay, {
    to: systemAddress('BeaconRoots'),
    data: root,
    label: 'beacon root read',
    note: 'By its timestamp (EIP-4788).',
  })
  await story.mine('transient storage', 'A lock that no trie ever sees; a beacon root is read.')
  const show = (label: string, contract: string, slot: Uint8Array, how: string, value: bigint | Uint8Array) =>
    story.slot({ label, contract, slot, how, value })
  show('opened', 'Latch', plainSlot(0), 'slot 0, opened', 1n)
  show('refused', 'Latch', plainSlot(1), 'slot 1, refused', 1n)
  const time = story.chain.head.header.timestamp
  show('beacon root, time', 'BeaconRoots', plainSlot(time % 8191n), 'timestamp mod 8191', time)
  show(
    'beacon root',
    'BeaconRoots',
    plainSlot((time % 8191n) + 8191n),
    'timestamp mod 8191, plus 8191',
    textHash(`beacon root of block ${story.number - 2}`),
  )
  await tellBlobs(story, kzg)
  story.call(dot, 'Nest', 'hatch(bytes32)', [phoenixSalt], { value: 9n })
  story.call(dot, 'Phoenix', 'grow(uint256,uint256)', [0, 2])
  await story.mine('last life', 'The phoenix is hatched once more.')
  story.call(dot, 'Phoenix', 'burn(address)', [ada.address], {
    label: 'SELFDESTRUCT after Cancun',
    note: 'EIP-6780: the ether goes, code and storage stay.',
  })
  await story.mine('fire without ashes', 'SELFDESTRUCT no longer destroys.')
  show('feather after Cancun', 'Phoenix', mappingSlot(1, 1), 'keccak256(1 ‖ 1), feathers[1]', 101n)
  story.call(dot, 'Nest', 'hatchAndBurn(bytes32,address)', [textHash('moth'), ada.address], {
    value: 11n,
    label: 'created and destroyed at once',
    note: 'Within one transaction SELFDESTRUCT still destroys.',
  })
  await story.mine('moth', 'A contract that lives for one transaction.')
  await passTimeUntil(story, forkBlocks.prague)
}

/** The Merge up to the last block before Prague. */
export async function tellStake(story: Story, kzg: KZG): Promise<void> {
  await tellMerge(story)
  await tellShanghai(story)
  await tellCancun(story, kzg)
}
