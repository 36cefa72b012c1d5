/** Prague to BPO2: accounts with code, requests to the beacon chain, and the block of 200 transactions. */
import type { KZG } from 'micro-eth-signer/kzg.js'
import {
  bytesToHex,
  concatBytes,
  type Hex,
  hexToBytes,
  padLeft,
  toMinimalBytes,
} from '../../../src/primitives/bytes.js'
import { people, stranger, textHash } from '../accounts.js'
import { blobOf, versionedHash } from '../blobs.js'
import { ether, everydayTransaction, passTimeUntil } from '../everyday.js'
import { forkBlocks, headNumber } from '../forks.js'
import { mappingSlot, plainSlot } from '../storageSlots.js'
import { crowd, type Story } from '../story.js'
import { systemAddress } from '../systemContracts.js'

const { ada, bea, cal, dot, eve, fay, gus, hal, joy } = people
/** Delegating to no one clears the delegation (EIP-7702). */
const nobody: Hex = `0x${'0'.repeat(40)}`

async function tellSetCode(story: Story): Promise<void> {
  const wallet = story.deploy(hal, 'Wallet', 'Wallet', 'Code for accounts that delegate.')
  await story.mine('Prague', 'Wallet is deployed; requests have a hash in the header now.')
  story.send(gus, {
    to: joy.hex,
    type: 4,
    authorizations: [
      { authority: joy, delegate: wallet },
      { authority: dot, delegate: wallet, nonce: 999_999n },
    ],
    label: 'first set-code',
    note: 'Type 4, paid by gus: joy delegates to Wallet; the authorization of dot has a wrong nonce and is skipped.',
  })
  await story.mine('set-code', 'joy becomes an account with code; dot does not.')
  story.name(
    'joy',
    joy.hex,
    'contracts/Wallet.sol',
    'An account that delegates to Wallet; cleared again in the end.',
    story.number - 1,
  )
  story.call(
    joy,
    'joy',
    'sendBatch(address[],uint256)',
    [[stranger(3000).address, stranger(3001).address, fay.address], ether],
    {
      label: 'batch by delegated code',
      note: 'joy calls herself and sends three ether in one transaction; three logs bear her address.',
    },
  )
  await story.mine('delegated code runs', 'An account executes the code that it delegates to.')
  const show = (label: string, slot: Uint8Array, how: string, value: bigint) =>
    story.slot({ label, contract: 'joy', slot, how, value })
  show('batches', plainSlot(0), 'slot 0 of the account, batches', 1n)
  show('sent to fay', mappingSlot(fay.address, 1), 'keccak256(fay ‖ 1), sentTo[fay]', ether)
}

async function tellRequests(story: Story): Promise<void> {
  const pubkey = concatBytes(textHash('validator'), textHash('validator, rest').subarray(0, 16))
  story.send(ada, {
    to: systemAddress('WithdrawalRequests'),
    data: concatBytes(pubkey, padLeft(toMinimalBytes(1_000_000_000), 8)),
    value: 1n,
    label: 'withdrawal request',
    note: 'EIP-7002: asks the beacon chain for one ether of a validator.',
  })
  await story.mine('withdrawal request', 'Requests of type 1 in the requests hash.')
  const other = concatBytes(textHash('other validator'), textHash('other, rest').subarray(0, 16))
  story.send(bea, {
    to: systemAddress('ConsolidationRequests'),
    data: concatBytes(pubkey, other),
    value: 1n,
    label: 'consolidation request',
    note: 'EIP-7251: asks to join two validators.',
  })
  const signature = concatBytes(textHash('signature 1'), textHash('signature 2'), textHash('signature 3'))
  story.call(cal, 'Deposits', 'deposit(bytes,bytes,bytes)', [pubkey, textHash('credentials'), signature], {
    value: 32n * ether,
    label: 'deposit',
    note: 'EIP-6110: the log becomes a request of type 0.',
  })
  await story.mine('deposit and consolidation', 'Requests of types 0 and 2 in the requests hash.')
  story.slot({ label: 'deposits', contract: 'Deposits', slot: plainSlot(0), how: 'slot 0, count', value: 1n })
  const number = padLeft(toMinimalBytes(story.number - 1), 32)
  story.send(eve, {
    to: systemAddress('HistoryStorage'),
    data: number,
    label: 'history read',
    note: 'The parent hash from storage (EIP-2935).',
  })
  const infinity = new Uint8Array(256)
  story.send(eve, {
    to: `0x${'0b'.padStart(40, '0')}`,
    data: infinity,
    gas: 100_000n,
    label: 'precompile 11',
    note: 'Addition on BLS12-381 (EIP-2537).',
  })
  await story.mine('history read', 'Block hashes lie in storage now.')
  const parent = story.number - 2
  story.slot({
    label: 'parent hash in storage',
    contract: 'HistoryStorage',
    slot: plainSlot(parent % 8191),
    how: 'number mod 8191',
    value: story.chain.head.header.parentHash,
  })
}

/** Exactly 200 transactions of every type, most of them with logs. */
async function tellGreatBlock(story: Story, kzg: KZG): Promise<void> {
  const hash = versionedHash(kzg, blobOf('A blob in a crowd.'))
  story.send(gus, { to: bea.hex, type: 3, gas: 21_000n, blobHashes: [hash] })
  story.send(gus, {
    to: joy.hex,
    type: 4,
    authorizations: [{ authority: stranger(5000), delegate: story.at('Wallet') }],
  })
  story.call(bea, 'Reverter', 'withReason()', [], { gas: 100_000n, fails: true })
  story.call(cal, 'Emitter', 'everyTopic(uint256)', [200])
  story.transfer(hal, stranger(4000), ether, { type: 0 })
  story.transfer(hal, stranger(4001), ether, { type: 1 })
  story.call(eve, 'Factory', 'make(uint256)', [200])
  story.deploy(dot, 'Second shelf', 'Shelf', 'A contract made in the block of 200.')
  for (let count = 8; count < 200; count++) everydayTransaction(story)
  await story.mine('200 transactions', 'Exactly 200 transactions, all types from 0 to 4 among them.')
}

async function tellOsaka(story: Story, kzg: KZG): Promise<void> {
  const counter = story.nonceOf(cal)
  story.send(cal, {
    data: hexToBytes('60011e5f5500'), // PUSH1 1 CLZ PUSH0 SSTORE STOP
    gas: 100_000n,
    label: 'CLZ',
    note: `Opcode 0x1e of EIP-7939, in a creation with nonce ${counter}.`,
  })
  story.send(cal, {
    to: `0x${'0100'.padStart(40, '0')}`,
    data: new Uint8Array(160),
    gas: 50_000n,
    label: 'precompile 256',
    note: 'secp256r1 (EIP-7951), with a signature that is none: success and no data.',
  })
  await story.mine('Osaka', 'A new opcode and a new precompile.')
  await passTimeUntil(story, forkBlocks.bpo1)
  const hashes = ['one', 'two', 'three', 'four', 'five'].map((text) =>
    versionedHash(kzg, blobOf(`Blob ${text}.`)),
  )
  const six = [...hashes, hashes[0] as Hex]
  for (const from of [gus, hal]) {
    story.send(from, { to: ada.hex, type: 3, gas: 21_000n, blobHashes: six })
  }
  await story.mine('BPO1', 'Twelve blobs; at most fifteen are allowed now.')
  await passTimeUntil(story, forkBlocks.bpo2)
  for (const from of [gus, hal, fay]) {
    story.send(from, { to: ada.hex, type: 3, gas: 21_000n, blobHashes: six })
  }
  await story.mine('BPO2', 'Eighteen blobs; at most twenty-one are allowed now.')
}

async function tellEnd(story: Story): Promise<void> {
  await passTimeUntil(story, 250)
  story.call(bea, 'Emitter', 'many(uint256)', [400], {
    gas: 2_000_000n,
    label: 'many logs',
    note: '400 logs of three topics in one transaction.',
  })
  await story.mine('many logs', 'One transaction with 400 logs.')
  const data = new Uint8Array(20_000).map((_, i) => (i * 7) % 251)
  story.send(bea, {
    to: ada.hex,
    data,
    gas: 900_000n,
    label: 'much calldata',
    note: '20,000 bytes, at the floor price of EIP-7623.',
  })
  await story.mine('much calldata', 'A transaction of 20 kB.')
  story.send(joy, {
    to: joy.hex,
    type: 4,
    authorizations: [{ authority: joy, delegate: nobody }],
    label: 'delegation cleared',
    note: 'joy authorizes no one, herself paying: the code is gone, the storage stays.',
  })
  await story.mine('delegation cleared', 'joy is an account without code again.')
  story.slot({
    label: 'batches, without code',
    contract: 'joy',
    slot: plainSlot(0),
    how: 'slot 0 of the account',
    value: 1n,
  })
  await passTimeUntil(story, 260)
  story.call(cal, 'Chronicle', 'record(uint256)', [257], { gas: 500_000n })
  const old = padLeft(toMinimalBytes(200), 32)
  story.send(cal, {
    to: systemAddress('HistoryStorage'),
    data: old,
    label: 'old hash',
    note: 'From storage, of block 200.',
  })
  await story.mine('BLOCKHASH out of reach', 'It gives zero for 257 blocks back.')
  story.slot({
    label: 'hash out of reach',
    contract: 'Chronicle',
    slot: plainSlot(BigInt(bytesToHex(mappingSlot(story.number - 1, 1))) + 2n),
    how: 'keccak256(block ‖ 1) + 2: byBlock[block].oldHash',
    value: 0n,
  })
  await passTimeUntil(story, headNumber)
  everydayTransaction(story)
  everydayTransaction(story)
  story.call(ada, 'Proxy', 'increment()')
  await story.mine('head', 'The newest block.')
  showHead(story)
}

/** The state of the long-lived contracts after the newest block. */
function showHead(story: Story): void {
  const show = (label: string, contract: string, slot: Uint8Array, how: string, value?: bigint) =>
    story.slot({ label, contract, slot, how, ...(value === undefined ? {} : { value }) })
  for (const token of ['Tide', 'Foam']) {
    show(`${token} supply at the head`, token, plainSlot(2), 'slot 2, totalSupply', 10n ** 27n)
    for (const person of crowd) {
      const slot = mappingSlot(person.address, 3)
      const how = `keccak256(${person.name} ‖ 3), balanceOf[${person.name}]`
      show(`${token} of ${person.name} at the head`, token, slot, how)
    }
  }
  show(
    'reserves at the head',
    'Exchange',
    plainSlot(2),
    'slot 2: reserveA 14 bytes, reserveB 14, lastTrade 4',
  )
  show('shares at the head', 'Exchange', plainSlot(3), 'slot 3, totalShares')
  show('count at the head', 'Proxy', plainSlot(0), 'slot 0 of the proxy, count', 23n)
  show(
    'stranger to Tide',
    'Tide',
    mappingSlot(stranger(7777).address, 3),
    'keccak256(stranger ‖ 3): never written',
    0n,
  )
}

/** Prague to the head. */
export async function tellLatest(story: Story, kzg: KZG): Promise<void> {
  await tellSetCode(story)
  await tellRequests(story)
  await passTimeUntil(story, 200)
  await tellGreatBlock(story, kzg)
  await passTimeUntil(story, forkBlocks.osaka)
  await tellOsaka(story, kzg)
  await tellEnd(story)
}
