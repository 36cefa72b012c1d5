/** The phoenix: a contract that CREATE2 makes at one address again and again, and SELFDESTRUCT takes away. */
import { generateAddress2 } from '@ethereumjs/util'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.js'
import { people, textHash } from '../accounts.js'
import { ether } from '../everyday.js'
import { contentSlot, mappingSlot, plainSlot } from '../storageSlots.js'
import type { Story } from '../story.js'

const { dot, eve, fay } = people

/** Salt of the phoenix: it decides its address at each creation. */
export const phoenixSalt = textHash('phoenix')

/** Constantinople: its first life, its death, and its second life. */
export async function tellPhoenix(story: Story): Promise<void> {
  story.deploy(dot, 'Factory', 'Factory', 'Makes children by CREATE and CREATE2.')
  const nest = story.deploy(dot, 'Nest', 'Nest', 'Hatches phoenixes by CREATE2.')
  const address = bytesToHex(
    generateAddress2(hexToBytes(nest), phoenixSalt, story.artifact('Phoenix').creationCode),
  )
  story.name(
    'Phoenix',
    address,
    'contracts/Phoenix.sol',
    'Destroyed and hatched again at one address.',
    story.number + 1,
  )
  await story.mine('factories', 'CREATE2 is there; Factory and Nest use it.')
  const feather = mappingSlot(3, 1)
  const show = (label: string, value: bigint, slot = feather, how = 'keccak256(3 ‖ 1), feathers[3]') =>
    story.slot({ label, contract: 'Phoenix', slot, how, value })
  story.call(dot, 'Nest', 'hatch(bytes32)', [phoenixSalt], {
    value: ether,
    label: 'phoenix hatched',
    note: 'CREATE2.',
  })
  story.call(dot, 'Phoenix', 'grow(uint256,uint256)', [0, 8])
  story.call(eve, 'Factory', 'make(uint256)', [1], { value: 5n })
  story.call(eve, 'Factory', 'makeAt(bytes32,uint256)', [textHash('child'), 2])
  story.call(eve, 'Factory', 'make(uint256)', [13], {
    fails: true,
    label: 'child refuses to be made',
    note: 'The constructor reverts inside a CREATE, with a reason.',
  })
  story.call(eve, 'Factory', 'makeAt(bytes32,uint256)', [textHash('child'), 2], {
    fails: true,
    label: 'address taken',
    note: 'CREATE2 to an address that has a contract.',
  })
  await story.mine('phoenix hatched', 'A contract by CREATE2 gets eight feathers; children are made.')
  show('feather in the first life', 103n)
  story.slot({
    label: 'children',
    contract: 'Factory',
    slot: plainSlot(0),
    how: 'slot 0, number of items',
    value: 2n,
  })
  story.slot({
    label: 'first child',
    contract: 'Factory',
    slot: contentSlot(0),
    how: 'keccak256(0), children[0]',
  })
  story.call(dot, 'Phoenix', 'burn(address)', [fay.address], {
    label: 'phoenix burnt',
    note: 'SELFDESTRUCT with storage: code, storage and nonce are gone, the ether goes to fay.',
  })
  await story.mine('phoenix burnt', 'A contract destroys itself, and its storage with it.')
  show('feather after the fire', 0n)
  story.call(dot, 'Nest', 'hatch(bytes32)', [phoenixSalt], {
    label: 'phoenix hatched again',
    note: 'The same address as before, with fresh storage.',
  })
  story.call(dot, 'Phoenix', 'grow(uint256,uint256)', [6, 2], { value: 3n })
  await story.mine('phoenix hatched again', 'The address of before; old feathers have not come back.')
  show('feather in the second life', 0n)
  show('new feather', 106n, mappingSlot(6, 1), 'keccak256(6 ‖ 1), feathers[6]')
  show('second life', 2n, plainSlot(0), 'slot 0, life')
}

/** Berlin: death and birth within one block. The changes of a block are more than its last writes. */
export async function tellAshes(story: Story): Promise<void> {
  story.call(dot, 'Nest', 'hatch(bytes32)', [phoenixSalt])
  story.call(dot, 'Phoenix', 'grow(uint256,uint256)', [0, 5])
  await story.mine('third life', 'The phoenix is hatched with five feathers.')
  story.call(dot, 'Phoenix', 'burn(address)', [fay.address])
  story.call(dot, 'Nest', 'hatch(bytes32)', [phoenixSalt])
  story.call(dot, 'Phoenix', 'grow(uint256,uint256)', [4, 2])
  await story.mine(
    'burnt and hatched in one block',
    'Its third life ends and its fourth begins in one block.',
  )
  for (const [feather, value] of [
    [3, 0n],
    [4, 104n],
    [5, 105n],
  ] as const) {
    story.slot({
      label: `feather ${feather} after death and birth in one block`,
      contract: 'Phoenix',
      slot: mappingSlot(feather, 1),
      how: `keccak256(${feather} ‖ 1), feathers[${feather}]`,
      value,
    })
  }
  story.call(dot, 'Phoenix', 'burn(address)', [fay.address])
  await story.mine('burnt again', 'The address is free once more.')
}
