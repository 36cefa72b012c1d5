/** Byzantium to Gray Glacier: markets, proxies, failures with reasons, and a phoenix. */
import { bytesToHex, concatBytes, hexToBytes, padLeft, toAddress } from '../../../src/primitives/bytes.js'
import { encodeCall } from '../abi.js'
import { miners, people } from '../accounts.js'
import { ether, everydayTransaction, passTimeUntil } from '../everyday.js'
import { forkBlocks } from '../forks.js'
import { mappingSlot, plainSlot } from '../storageSlots.js'
import { crowd, type Story } from '../story.js'
import { tellAshes, tellPhoenix } from './phoenix.js'

const { ada, bea, cal, dot, eve, fay, gus, hal } = people

const noLimit = 2n ** 256n - 1n

/** keccak256("eip1967.proxy.implementation") − 1, the slot in which a proxy keeps its implementation (EIP-1967). */
const implementationSlot = hexToBytes('360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc')
const adminSlot = hexToBytes('b53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103')

async function tellMarket(story: Story): Promise<void> {
  const types = ['string', 'string', 'uint256']
  story.deploy(bea, 'Foam', 'TideToken', 'The second token.', types, ['Foam', 'FOAM', 10n ** 27n])
  story.deploy(bea, 'Reverter', 'Reverter', 'Fails in every way that a contract can.')
  await story.mine('status in receipts', 'From here receipts hold a status. Foam and Reverter are deployed.')
  for (const person of crowd) {
    if (person === bea) continue
    story.call(bea, 'Foam', 'transfer(address,uint256)', [person.address, 10n ** 24n], { gas: 100_000n })
  }
  const tokens = [toAddress(hexToBytes(story.at('Tide'))), toAddress(hexToBytes(story.at('Foam')))]
  story.deploy(cal, 'Exchange', 'Exchange', 'Trades Tide for Foam.', ['address', 'address'], tokens)
  await story.mine('market built', 'Foam is handed out and Exchange deployed.')
  const exchange = hexToBytes(story.at('Exchange'))
  for (const person of crowd) {
    for (const token of ['Tide', 'Foam']) {
      story.call(person, token, 'approve(address,uint256)', [exchange, noLimit], { gas: 100_000n })
    }
  }
  await story.mine('sixteen approvals', 'Everyone lets Exchange move both tokens.')
  story.slot({
    label: 'unlimited allowance',
    contract: 'Tide',
    slot: mappingSlot(exchange, mappingSlot(gus.address, 4)),
    how: 'keccak256(Exchange ‖ keccak256(gus ‖ 4)), allowance[gus][Exchange]',
    value: noLimit,
  })
  const add = 'addLiquidity(uint256,uint256)'
  story.call(ada, 'Exchange', add, [100_000n * ether, 400_000n * ether], { gas: 500_000n })
  story.call(bea, 'Exchange', add, [10_000n * ether, 40_000n * ether], { gas: 500_000n })
  await story.mine('liquidity', 'The market opens at four Foam for a Tide.')
  story.slot({
    label: 'shares of ada',
    contract: 'Exchange',
    slot: mappingSlot(ada.address, 4),
    how: 'keccak256(ada ‖ 4), shares[ada]',
    value: 200_000n * ether,
  })
  story.slot({
    label: 'reserves',
    contract: 'Exchange',
    slot: plainSlot(2),
    how: 'slot 2: reserveA 14 bytes, reserveB 14, lastTrade 4, from the right',
    value: (110_000n * ether) | ((440_000n * ether) << 112n) | (story.chain.head.header.timestamp << 224n),
  })
  const swap = 'swap(bool,uint256,uint256)'
  story.call(dot, 'Exchange', swap, [true, 50n * ether, 190n * ether], {
    label: 'first swap',
    note: 'Four logs: two transfers, Swap and Sync.',
  })
  story.call(eve, 'Exchange', swap, [true, 50n * ether, 200n * ether], {
    fails: true,
    label: 'swap at a price that moved',
    note: 'Reverts with the reason "Exchange: price moved".',
  })
  story.call(bea, 'Exchange', 'removeLiquidity(uint256)', [5_000n * ether])
  await story.mine('first swaps', 'One trade, one refusal, one withdrawal of liquidity.')
}

async function tellFailures(story: Story): Promise<void> {
  const failures: [string, string, readonly bigint[]][] = [
    ['withReason()', 'Error(string): "Reverter: the tide is out"', []],
    ['withLongReason()', 'Error(string) of more than one word', []],
    ['withoutReason()', 'no data at all', []],
    ['withCustomError(uint256)', 'Refused(uint256,address) with code 404', [404n]],
    ['withBareError()', 'Bare(), four bytes', []],
    ['withAssert()', 'Panic(1)', []],
    ['withOverflow(uint256)', 'Panic(0x11)', [1n]],
    ['withDivision(uint256)', 'Panic(0x12)', [0n]],
    ['withIndex(uint256)', 'Panic(0x32)', [3n]],
    ['withInvalidOpcode()', 'opcode 0xfe, all gas gone', []],
  ]
  for (const [signature, what, args] of failures) {
    const label = `failure: ${signature.slice(0, signature.indexOf('('))}`
    story.call(fay, 'Reverter', signature, args, {
      gas: 100_000n,
      fails: true,
      label,
      note: `Fails with ${what}.`,
    })
  }
  story.call(fay, 'Reverter', 'swallow()', [], {
    label: 'failure within',
    note: 'A call inside fails and is undone, the transaction succeeds.',
  })
  story.call(fay, 'Emitter', 'thenFail()', [], {
    fails: true,
    label: 'logs washed away',
    note: 'It logged before it reverted: the receipt has no logs.',
  })
  await story.mine('every failure', 'Twelve calls that fail in twelve ways, one of them inside a success.')
  const precompile = (index: number, data: Uint8Array, label: string) =>
    story.send(gus, {
      to: bytesToHex(padLeft(new Uint8Array([index]), 20)),
      data,
      gas: 200_000n,
      label: `precompile ${index}`,
      note: label,
    })
  const text = new TextEncoder().encode('tide')
  precompile(2, text, 'SHA-256.')
  precompile(3, text, 'RIPEMD-160.')
  precompile(4, text, 'Identity.')
  const one = padLeft(new Uint8Array([1]), 32)
  precompile(5, concatBytes(one, one, one, new Uint8Array([3, 5, 7])), 'Modular exponentiation: 3^5 mod 7.')
  precompile(6, new Uint8Array(128), 'Addition on alt_bn128, of the point at infinity.')
  await story.mine('precompiles', 'Five precompiled contracts called by transactions.')
}

async function tellProxy(story: Story): Promise<void> {
  const implementation = story.deploy(hal, 'CounterV1', 'CounterV1', 'What the proxy runs first.')
  story.deploy(hal, 'Proxy', 'Proxy', 'EIP-1967 proxy.', ['address'], [implementation])
  await story.mine('proxy', 'An EIP-1967 proxy and its implementation.')
  for (const person of [ada, bea, ada]) story.call(person, 'Proxy', 'increment()')
  story.call(cal, 'OldCounter', 'increment()')
  await story.mine('counting through a proxy', 'The counter lies in the proxy, its code elsewhere.')
  const show = (label: string, slot: Uint8Array, how: string, value: bigint) =>
    story.slot({ label, contract: 'Proxy', slot, how, value })
  show(
    'implementation',
    implementationSlot,
    'keccak256("eip1967.proxy.implementation") − 1',
    BigInt(implementation),
  )
  show('admin', adminSlot, 'keccak256("eip1967.proxy.admin") − 1', BigInt(hal.hex))
  show('count through the proxy', plainSlot(0), 'slot 0 of the proxy, count', 3n)
  show('ada through the proxy', mappingSlot(ada.address, 1), 'keccak256(ada ‖ 1), byCaller[ada]', 2n)
  story.slot({
    label: 'count after genesis',
    contract: 'OldCounter',
    slot: plainSlot(0),
    how: 'slot 0, count',
    value: 1001n,
  })
}

async function tellClearing(story: Story): Promise<void> {
  story.deploy(cal, 'Chronicle', 'Chronicle', 'Writes down what blocks say of themselves.')
  const tide = padRightText('tide')
  story.call(bea, 'Shelf', 'clear(uint256,bytes32)', [42, tide], {
    gas: 1_000_000n,
    label: 'storage cleared',
    note: 'Arrays, texts, a struct and a note go back to zero, for a refund.',
  })
  await story.mine('storage cleared', 'Most of Shelf goes back to zero and out of the trie.')
  const show = (label: string, slot: Uint8Array, how: string, value: bigint) =>
    story.slot({ label, contract: 'Shelf', slot, how, value })
  show('array, length, after clear', plainSlot(4), 'slot 4', 0n)
  show('struct after clear', mappingSlot(42, 5), 'keccak256(42 ‖ 5)', 0n)
  show(
    'note after clear',
    mappingSlot(tide, mappingSlot(bea.address, 6)),
    'keccak256("tide" ‖ keccak256(bea ‖ 6))',
    0n,
  )
  show('owner stays', plainSlot(12), 'slot 12', BigInt(bea.hex))
  story.call(cal, 'Chronicle', 'record(uint256)', [70], { gas: 500_000n })
  await story.mine('chronicle before the Merge', 'Opcode 0x44 gives the difficulty, BLOCKHASH an old hash.')
  const entry = mappingSlot(story.number - 1, 1)
  story.slot({
    label: 'difficulty, as chronicled',
    contract: 'Chronicle',
    slot: entry,
    how: 'keccak256(block ‖ 1): byBlock[block].randomness',
    value: story.chain.head.header.difficulty,
  })
  const blake = hexToBytes(`0000000c${'00'.repeat(64 + 128 + 16)}01`)
  story.send(gus, {
    to: `0x${'09'.padStart(40, '0')}`,
    data: blake,
    gas: 100_000n,
    label: 'precompile 9',
    note: 'BLAKE2b.',
  })
  story.call(dot, 'Phoenix', 'burn(address)', [hexToBytes(story.at('Phoenix'))], {
    label: 'phoenix burnt with itself as heir',
    note: 'Its three wei are destroyed with it.',
  })
  await story.mine('burnt for itself', 'A contract that leaves its ether to itself; BLAKE2b is called.')
}

function padRightText(text: string): Uint8Array {
  const word = new Uint8Array(32)
  word.set(new TextEncoder().encode(text))
  return word
}

async function tellTypedTransactions(story: Story): Promise<void> {
  await passTimeUntil(story, forkBlocks.berlin)
  const accessList = [
    {
      address: story.at('Tide'),
      storageKeys: [bytesToHex(mappingSlot(ada.address, 3)), bytesToHex(plainSlot(2))],
    },
    { address: story.at('Shelf'), storageKeys: [] },
  ]
  const transfer = encodeCall('transfer(address,uint256)', [bea.address, 5n])
  story.send(ada, {
    to: story.at('Tide'),
    data: transfer,
    type: 1,
    accessList,
    label: 'first access list',
    note: 'Type 1.',
  })
  story.send(bea, {
    data: hexToBytes('600160005500'),
    type: 1,
    gas: 100_000n,
    label: 'creation of type 1',
    note: 'Stores 1 and leaves no code.',
  })
  await story.mine('access lists', 'Type 1: a call and a creation.')
  await tellAshes(story)
  await passTimeUntil(story, forkBlocks.london)
  story.transfer(ada, bea, ether, {
    label: 'first of type 2',
    note: 'The base fee is burnt, the tip goes to the miner.',
  })
  story.transfer(bea, ada, ether, {
    type: 0,
    label: 'legacy after London',
    note: 'Its effective price is its gas price.',
  })
  await story.mine('base fee', 'Gas limit doubles, base fee starts at one gwei.')
  story.send(cal, {
    data: hexToBytes('60ef60005360016000f3'),
    gas: 100_000n,
    fails: true,
    label: 'code that begins with 0xef',
    note: 'EIP-3541 refuses it.',
  })
  story.send(cal, {
    to: story.at('Tide'),
    data: transfer,
    accessList,
    label: 'type 2 with access list',
    note: 'Fees of EIP-1559, list of EIP-2930.',
  })
  const uncle = await story.chain.makeUncle(miners[0], 'last of its kind', 3)
  await story.mine('0xef refused', 'A creation fails for its first byte.')
  everydayTransaction(story)
  await story.mine('uncle with a base fee', 'An uncle from after London.', { uncles: [uncle] })
  const next = story.deploy(hal, 'CounterV2', 'CounterV2', 'What the proxy runs later.')
  story.call(hal, 'Proxy', 'upgradeTo(address)', [hexToBytes(next)])
  story.call(eve, 'Proxy', 'upgradeTo(address)', [hexToBytes(next)], {
    fails: true,
    label: 'not the admin',
    note: 'Only hal may upgrade.',
  })
  story.call(hal, 'Proxy', 'setStep(uint256)', [10])
  story.call(ada, 'Proxy', 'increment()')
  await story.mine('proxy upgraded', 'The implementation changes, the storage stays.')
  const show = (label: string, slot: Uint8Array, how: string, value: bigint) =>
    story.slot({ label, contract: 'Proxy', slot, how, value })
  show(
    'implementation, upgraded',
    implementationSlot,
    'keccak256("eip1967.proxy.implementation") − 1',
    BigInt(next),
  )
  show('count after the upgrade', plainSlot(0), 'slot 0 of the proxy, count', 13n)
  show('step', plainSlot(2), 'slot 2 of the proxy, step', 10n)
}

/** Byzantium up to the last block of proof of work. */
export async function tellLateWork(story: Story): Promise<void> {
  await tellMarket(story)
  await tellFailures(story)
  await tellProxy(story)
  await passTimeUntil(story, forkBlocks.constantinople)
  await tellPhoenix(story)
  const uncle = await story.chain.makeUncle(miners[1], 'after two rewards', 2)
  await story.mine()
  await story.mine('uncle in Constantinople', 'The reward is two ether now.', { uncles: [uncle] })
  await passTimeUntil(story, forkBlocks.istanbul)
  await tellClearing(story)
  await tellTypedTransactions(story)
  await passTimeUntil(story, forkBlocks.merge)
}
