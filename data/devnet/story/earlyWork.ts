/** Frontier to EIP-155: the first transfers, tokens and mishaps, when receipts still held state roots. */
import { hexToBytes } from '../../../src/primitives/bytes.js'
import { miners, people, stranger } from '../accounts.js'
import { ether, everydayTransaction, passTimeUntil } from '../everyday.js'
import { forkBlocks } from '../forks.js'
import { genesisAddresses, vaultSlots } from '../genesis.js'
import { contentSlot, mappingSlot, plainSlot } from '../storageSlots.js'
import { crowd, type Story } from '../story.js'
import { systemContracts } from '../systemContracts.js'

const { ada, bea, cal, dot, eve, fay, gus, hal } = people

/** Exists in the trie with nothing in it, from block 2 until EIP-161 lets a touch remove it. */
export const emptyAccount = stranger(9000)

/** Names the accounts of genesis, and shows its storage. */
export function tellGenesis(story: Story): void {
  for (const { name, address, eip } of systemContracts) {
    story.name(name, address, 'systemContracts.ts', `Called by the protocol itself (EIP-${eip}).`, 0)
  }
  const { deposits, oldCounter, vault, oddity } = genesisAddresses
  story.name('Deposits', deposits, 'contracts/Depositor.sol', 'Stands in for the deposit contract.', 0)
  story.name(
    'OldCounter',
    oldCounter,
    'contracts/Counter.sol',
    'Had counted to 1,000 before the chain began.',
    0,
  )
  story.name('Vault', vault, 'genesis.ts', 'Ten slots, one of them the last of all; code returns slot 0.', 0)
  story.name('Oddity', oddity, 'genesis.ts', 'Storage but no code; one wei.', 0)
  for (const [slot, value] of vaultSlots) {
    const label = `vault ${value}`
    story.slot({ label, contract: 'Vault', slot, how: 'set at genesis', value, block: 0 })
  }
  const counted = (label: string, slot: Uint8Array, how: string, value: bigint) =>
    story.slot({ label, contract: 'OldCounter', slot, how, value, block: 0 })
  counted('count at genesis', plainSlot(0), 'slot 0, count', 1000n)
  counted('ada at genesis', mappingSlot(ada.address, 1), 'keccak256(ada ‖ 1), byCaller[ada]', 600n)
  const oddSlot = plainSlot(7)
  story.slot({ label: 'oddity', contract: 'Oddity', slot: oddSlot, how: 'slot 7', value: 7n, block: 0 })
}

async function tellFrontier(story: Story): Promise<void> {
  await story.mine('first block', 'Empty; its parent is genesis.')
  story.transfer(ada, bea, 5n * ether, {
    label: 'first transfer',
    note: 'Legacy, v 27 or 28: no chain id, for EIP-155 is far away.',
  })
  story.send(bea, {
    to: emptyAccount.hex,
    gas: 21_000n,
    label: 'empty account made',
    note: 'Sends nothing to nobody; before EIP-161 that puts an empty account into the trie.',
  })
  await story.mine('first transactions', 'Two transfers; receipts hold a state root in place of a status.')
  const types = ['string', 'string', 'uint256']
  story.deploy(ada, 'Tide', 'TideToken', 'The first token.', types, ['Tide', 'TIDE', 10n ** 27n], {
    label: 'first creation',
    note: 'Deploys Tide. In Frontier a creation costs no more than a call.',
  })
  await story.mine('first contract', 'Tide, an ERC-20 token, is deployed.')
  story.slot({
    label: 'Tide name',
    contract: 'Tide',
    slot: plainSlot(0),
    how: 'slot 0, short string: bytes, then twice the length',
  })
  story.slot({
    label: 'Tide supply',
    contract: 'Tide',
    slot: plainSlot(2),
    how: 'slot 2, totalSupply',
    value: 10n ** 27n,
  })

  const uncle = await story.chain.makeUncle(miners[2], 'came second', 1)
  for (const person of crowd.slice(1)) {
    story.call(ada, 'Tide', 'transfer(address,uint256)', [person.address, 10n ** 24n], { gas: 100_000n })
  }
  await story.mine('token handed out', 'Seven token transfers from one sender.')
  story.slot({
    label: 'Tide of bea',
    contract: 'Tide',
    slot: mappingSlot(bea.address, 3),
    how: 'keccak256(bea ‖ 3), balanceOf[bea]',
    value: 10n ** 24n,
  })
  await story.mine('one uncle', 'Holds an uncle of the block before: it earns 7/8 of the reward.', {
    uncles: [uncle],
  })
  const code = hexToBytes('6160006000f3') // PUSH2 0x6000 PUSH1 0 RETURN: 24,576 zero bytes
  story.send(cal, {
    data: hexToBytes('60006000fe'),
    gas: 60_000n,
    fails: true,
    label: 'creation hits an invalid opcode',
    note: 'All gas is gone, no contract comes of it.',
  })
  story.send(cal, {
    data: code,
    gas: 100_000n,
    fails: true,
    label: 'frontier creation without code',
    note: 'Too little gas to store the code: Frontier keeps the new account, without code, and the unused gas.',
  })
  await story.mine(
    'creations that go wrong',
    'Frontier: one fails, the other leaves an account without code.',
  )
  story.call(bea, 'Tide', 'transfer(address,uint256)', [ada.address, 1n], {
    gas: 25_000n,
    fails: true,
    label: 'call out of gas',
    note: 'The gas ends within the call.',
  })
  story.call(bea, 'Tide', 'transfer(address,uint256)', [ada.address, 10n ** 30n], {
    gas: 90_000n,
    fails: true,
    label: 'token failure without REVERT',
    note: 'The balance is too low; before Byzantium the refusal takes all gas.',
  })
  await story.mine('calls that go wrong', 'Out of gas, and a refusal.')
  await passTimeUntil(story, forkBlocks.homestead)
}

async function tellHomestead(story: Story): Promise<void> {
  story.deploy(bea, 'Emitter', 'Emitter', 'Logs with 0 to 4 topics.')
  story.deploy(bea, 'Burner', 'Burner', 'Burns gas in a loop.')
  story.deploy(bea, 'Shelf', 'Shelf', 'Strings, bytes, arrays, packed slots, structs, nested mappings.')
  await story.mine('three contracts', 'Emitter, Burner and Shelf are deployed.')
  story.call(cal, 'Emitter', 'everyTopic(uint256)', [42], {
    label: 'every number of topics',
    note: 'Seven logs with 0, 1, 2, 3, 4, 4 (anonymous) and 2 topics.',
  })
  await story.mine('every number of topics', 'One transaction with seven logs of 0 to 4 topics.')
  story.send(cal, {
    data: hexToBytes('6160006000f3'),
    gas: 100_000n,
    fails: true,
    label: 'homestead creation without gas for code',
    note: 'The same as in Frontier, but EIP-2 makes it fail.',
  })
  story.call(dot, 'Tide', 'approve(address,uint256)', [eve.address, 777n * ether], { gas: 100_000n })
  await story.mine('first approval', 'dot allows eve 777 Tide.')
  const nested = mappingSlot(eve.address, mappingSlot(dot.address, 4))
  story.slot({
    label: 'allowance of dot to eve',
    contract: 'Tide',
    slot: nested,
    how: 'keccak256(eve ‖ keccak256(dot ‖ 4)), allowance[dot][eve]',
    value: 777n * ether,
  })
  const first = await story.chain.makeUncle(miners[0], 'late by one', 1)
  const second = await story.chain.makeUncle(miners[1], 'late by two', 2)
  const third = await story.chain.makeUncle(miners[0], 'late by three', 3)
  story.call(eve, 'Tide', 'transferFrom(address,address,uint256)', [dot.address, fay.address, 77n * ether])
  await story.mine('allowance spent in part', 'eve moves 77 of the 777 Tide of dot.')
  story.slot({
    label: 'allowance of dot to eve, after',
    contract: 'Tide',
    slot: nested,
    how: 'keccak256(eve ‖ keccak256(dot ‖ 4)), allowance[dot][eve]',
    value: 700n * ether,
  })
  everydayTransaction(story)
  await story.mine('two uncles', 'Two uncles of the same height; both miners are paid.', {
    uncles: [first, second],
  })
  await story.mine('older uncle', 'An uncle two heights down earns 6/8.', { uncles: [third] })
  await passTimeUntil(story, forkBlocks.eip150)
}

async function tellTangerine(story: Story): Promise<void> {
  const set = (signature: string, args: Parameters<Story['call']>[3]) =>
    story.call(bea, 'Shelf', signature, args, { gas: 800_000n })
  set('setPacked(uint128,uint64,bool,uint8)', [321, 1954, true, 5])
  set('setTitles(string,string)', [
    'Ebb',
    'A long title that needs more than the thirty-two bytes of one slot',
  ])
  set('setScan(bytes)', [new Uint8Array(100).fill(0xab)])
  set('pushNumbers(uint256,uint256)', [1000, 12])
  set('setBook(uint256,uint64,address,string)', [42, 1851, cal.address, 'The Whale'])
  set('setNote(bytes32,uint256)', [new TextEncoder().encode('tide'), 99])
  set('setCorner(uint256,uint256)', [2, 222])
  await story.mine('shelf filled', 'Every storage shape of Shelf is written.')
  const show = (label: string, slot: Uint8Array, how: string, value?: bigint) =>
    story.slot({ label, contract: 'Shelf', slot, how, ...(value === undefined ? {} : { value }) })
  const packed = 321n | (1954n << 128n) | (1n << 192n) | (5n << 200n)
  show('packed', plainSlot(0), 'slot 0: pages 16 bytes, year 8, lent 1, rating 1, from the right', packed)
  show('short string', plainSlot(1), 'slot 1: text on the left, twice its length in the last byte')
  show('long string, length', plainSlot(2), 'slot 2: twice the length plus one', 133n)
  show('long string, first word', contentSlot(2), 'keccak256(2): the first 32 bytes of the text')
  show('bytes, length', plainSlot(3), 'slot 3: twice the length plus one', 201n)
  show('array, length', plainSlot(4), 'slot 4: number of items', 12n)
  show(
    'array, item 3',
    plainSlot(BigInt(`0x${Buffer.from(contentSlot(4)).toString('hex')}`) + 3n),
    'keccak256(4) + 3, numbers[3]',
    1003n,
  )
  const book = mappingSlot(42, 5)
  show('struct in a mapping', book, 'keccak256(42 ‖ 5): year 8 bytes and author 20 bytes, from the right')
  const tide = new Uint8Array(32)
  tide.set(new TextEncoder().encode('tide'))
  show(
    'nested mapping by bytes32',
    mappingSlot(tide, mappingSlot(bea.address, 6)),
    'keccak256("tide" ‖ keccak256(bea ‖ 6)), notes[bea]["tide"]',
    99n,
  )
  show('packed array', contentSlot(7), 'keccak256(7): twelve uint8 from the right')
  show('fixed array, item 2', plainSlot(10), 'slot 8 + 2, corners[2]', 222n)
  show('owner', plainSlot(12), 'slot 12', BigInt(bea.hex))
  await passTimeUntil(story, forkBlocks.eip155 - 2)
  story.call(gus, 'Burner', 'burnAndKeep(uint256)', [1500], {
    gas: 1_000_000n,
    label: 'loop of 1,500 rounds',
    note: 'Much gas for little.',
  })
  await story.mine('loop', 'A loop of 1,500 rounds.')
  await passTimeUntil(story, forkBlocks.eip155)
}

async function tellSpurious(story: Story): Promise<void> {
  story.transfer(hal, ada, ether, {
    label: 'first protected',
    note: 'v is 35 or 36 plus twice the chain id.',
  })
  story.transfer(gus, ada, ether, {
    unprotected: true,
    label: 'unprotected by choice',
    note: 'v 27 or 28 stays valid after EIP-155.',
  })
  story.send(gus, {
    to: emptyAccount.hex,
    gas: 21_000n,
    label: 'empty account removed',
    note: 'The same transfer of nothing as in block 2, but EIP-161 now takes the touched empty account away.',
  })
  await story.mine(
    'replay protection',
    'Transactions with and without a chain id; an empty account vanishes.',
  )
  const uncle = await story.chain.makeUncle(miners[1], 'two too late', 4)
  story.send(cal, {
    data: hexToBytes('6161a86000f3'), // PUSH2 25000 PUSH1 0 RETURN
    gas: 6_000_000n,
    fails: true,
    label: 'contract too large',
    note: '25,000 bytes of code; EIP-170 allows 24,576.',
  })
  await story.mine('contract too large', 'A creation over the size limit fails with all its gas.')
  everydayTransaction(story)
  await story.mine()
  everydayTransaction(story)
  everydayTransaction(story)
  await story.mine('uncle and transactions', 'An uncle two heights down, and transactions.', {
    uncles: [uncle],
  })
  await passTimeUntil(story, forkBlocks.byzantium)
}

/** Blocks 1 to the last before Byzantium. */
export async function tellEarlyWork(story: Story): Promise<void> {
  await tellFrontier(story)
  await tellHomestead(story)
  await tellTangerine(story)
  await tellSpurious(story)
}
