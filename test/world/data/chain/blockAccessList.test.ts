// @shares
import t from 'tap'
import {
  blockAccessItems,
  blockAccessListHash,
  checkBlockAccessItems,
  decodeBlockAccessList,
  encodeBlockAccessList,
  writeBlockAccessList,
} from '../../../../src/data/chain/blockAccessList.js'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.js'
import { JsonBytes } from '../../../../src/primitives/jsonBytes.js'
import { decodeRlpList, encodeRlp, type RlpItem } from '../../../../src/primitives/rlp.js'
import {
  amsterdamChains,
  readAmsterdamBlocks,
  toExecutionApis,
  withoutAmsterdam,
} from '../../../ingest/amsterdam.js'

const limits = { transactionCount: 2, gasLimit: 30_000_000n }

for (const chain of amsterdamChains) {
  const title = `every list of ${chain} is read, written, hashed and shown as go-ethereum has it`
  t.test(title, { skip: withoutAmsterdam }, async (t) => {
    const json = new JsonBytes(1024)
    for (const block of readAmsterdamBlocks(chain)) {
      if (block.blockAccessListRlp === undefined || block.blockAccessList === undefined) continue
      const rlp = hexToBytes(block.blockAccessListRlp)
      const list = decodeBlockAccessList(rlp, {
        transactionCount: block.receipts.length,
        gasLimit: BigInt(block.gasLimit),
      })
      const items = list.reduce((sum, a) => sum + 1 + a.storageChanges.length + a.storageReads.length, 0)
      json.clear()
      writeBlockAccessList(json, rlp)
      const shown = Buffer.from(json.written).toString()
      if (
        bytesToHex(encodeBlockAccessList(list)) !== block.blockAccessListRlp ||
        bytesToHex(blockAccessListHash(rlp)) !== block.blockAccessListHash ||
        blockAccessItems(rlp) !== items ||
        shown !== JSON.stringify(block.blockAccessList.map(toExecutionApis))
      ) {
        t.fail(`block ${block.number}`)
      }
    }
    t.pass('all agree')
  })
}

const number = (value: number) => (value === 0 ? new Uint8Array(0) : Uint8Array.of(value))
const address = (last: number) => Uint8Array.from({ length: 20 }, (_, i) => (i === 19 ? last : 0x11))
const change = (index: number, value = 7): RlpItem => [number(index), number(value)]
const account = (last: number, ...fields: RlpItem[]): RlpItem[] => [
  address(last),
  ...Array.from({ length: 5 }, (_, i) => fields[i] ?? []),
]

t.test('a list that EIP-7928 does not allow is refused by name', async (t) => {
  const zeroFirst = Uint8Array.of(0, 1)
  const cases: [RlpItem, RegExp][] = [
    [number(1), /expected a list/],
    [[number(1)], /expected a list/],
    [[[address(1)]], /an account has 1 fields instead of 6/],
    [[[...account(1), []]], /an account has 7 fields instead of 6/],
    [[[new Uint8Array(19), [], [], [], [], []]], /an address has 19 bytes/],
    [[account(2), account(1)], /addresses: 0x1{38}01 comes after 0x1{38}02/],
    [[account(1), account(1)], /addresses: 0x1{38}01 is there twice/],
    [[account(1, [], [number(2), number(1)])], /0x1{38}01: read slots: .* not in order/],
    [[account(1, [], [number(2), number(2)])], /read slots: .* twice/],
    [[account(1, [], [zeroFirst])], /slot has leading zeros/],
    [[account(1, [], [new Uint8Array(33).fill(1)])], /slot is longer than 32 bytes/],
    [[account(1, [[number(1)]])], /a changed slot is no pair/],
    [[account(1, [[number(1), []]])], /slot 0x0{63}1 has no change/],
    [
      [
        account(1, [
          [number(2), [change(0)]],
          [number(1), [change(0)]],
        ]),
      ],
      /changed slots: .* not in order/,
    ],
    [
      [
        account(1, [
          [number(2), [change(0)]],
          [number(2), [change(0)]],
        ]),
      ],
      /changed slots: .* twice/,
    ],
    [[account(1, [[number(2), [change(1), change(0)]]])], /index 0 comes after 1/],
    [[account(1, [[number(2), [change(1), change(1)]]])], /index 1 comes after 1/],
    [[account(1, [[number(2), [[number(1), zeroFirst]]]])], /slot 0x0{63}2 has leading zeros/],
    [[account(1, [[number(2), [change(0)]]], [number(1), number(2)])], /is among changes and reads/],
    [[account(1, [], [], [change(4)])], /balance: index 4 is above the block's last, 3/],
    [[account(1, [], [], [[zeroFirst, number(1)]])], /balance: index has leading zeros/],
    [[account(1, [], [], [[new Uint8Array(5).fill(1), number(1)]])], /index is longer than 4 bytes/],
    [[account(1, [], [], [[number(1)]])], /balance: a change is no pair/],
    [[account(1, [], [], [[number(1), zeroFirst]])], /balance has leading zeros/],
    [[account(1, [], [], [], [[number(1), new Uint8Array(9).fill(1)]])], /nonce is longer than 8 bytes/],
    [[account(1, [], [], [], [], [change(2), change(1)])], /code: index 1 comes after 2/],
  ]
  for (const [item, message] of cases) {
    const rlp = encodeRlp(item)
    t.throws(
      () => decodeBlockAccessList(rlp, limits),
      { name: 'BlockAccessListError', message },
      String(message),
    )
  }
  t.throws(() => decodeBlockAccessList(Uint8Array.of(0xc0, 0xc0), limits), {
    message: /bytes after the item/,
  })
  const code = account(1, [], [], [], [], [[number(1), zeroFirst]])
  t.strictSame(
    decodeBlockAccessList(encodeRlp([code]), limits)[0]?.codeChanges,
    [{ index: 1, value: Buffer.from(zeroFirst) }].map(({ index, value }) => ({
      index,
      value: Uint8Array.from(value),
    })),
  )
})

t.test('addresses and slots are limited by the gas limit', async (t) => {
  const rlp = encodeRlp([account(1, [[number(1), [change(0)]]], [number(2)]), account(2)])
  t.equal(blockAccessItems(rlp), 4)
  t.equal(decodeRlpList(rlp).length, 2)
  t.equal(decodeBlockAccessList(rlp, { ...limits, gasLimit: 8000n }).length, 2)
  t.throws(() => decodeBlockAccessList(rlp, { ...limits, gasLimit: 7999n }), {
    message: /gas limit allows, 3 /,
  })
  t.doesNotThrow(() => checkBlockAccessItems(rlp, 8000n))
  t.throws(() => checkBlockAccessItems(rlp, 7999n), { name: 'BlockAccessListError', message: /allows 3/ })
})
