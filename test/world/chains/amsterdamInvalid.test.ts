// @shares
/** Blocks that break a rule of Amsterdam are refused, whether their access list comes along or not, in order and in parts. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ChainWriter } from '../../../src/data/store/chainWriter.js'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.js'
import { encodeRlpListOfEncoded, rlpListSpans, rlpSpanAt } from '../../../src/primitives/rlp.js'
import { parseBlock } from '../../../src/sources/ingest/blocks/block.js'
import { readChainFile } from '../../../src/sources/ingest/blocks/chainFile.js'
import { parseGenesis } from '../../../src/sources/ingest/blocks/genesis.js'
import { ChainImporter } from '../../../src/sources/ingest/blocks/importer.js'
import {
  amsterdamDir,
  type InvalidBlock,
  readInvalidBlocks,
  withoutAmsterdam,
} from '../../ingest/amsterdam.js'

/**
 * The text of a refusal: for the block as it is, and, if another rule is checked first, for the block with its list.
 */
const rules: Readonly<Record<string, readonly [RegExp, RegExp?]>> = {
  bal_hash_random: [/blockAccessListHash is 0x3b472c.* after execution/, /hash of the list that came with/],
  slot_number_missing: [/slotNumber is absent, expected it since amsterdam/],
  bal_hash_and_slot_missing: [/blockAccessListHash is absent, expected it since amsterdam/],
  slot_and_bal_swapped: [/header field blockAccessListHash has \d bytes instead of 32/],
  fields_before_fork: [/blockAccessListHash is present, expected none before amsterdam/],
  fields_missing_at_fork: [/blockAccessListHash is absent, expected it since amsterdam/],
  gas_used_sum_of_dimensions: [/gasUsed is 2007360 after execution, the header says 2264698/],
  gas_used_execution_when_state_larger: [/gasUsed is 2007360 after execution, the header says 257338/],
  gas_used_state_when_execution_larger: [/gasUsed is 2501120 after execution, the header says 183600/],
  gas_used_plus_one: [/gasUsed is 1421370 after execution, the header says 1421371/],
  gas_used_after_refund: [/gasUsed is 17507254 after execution, the header says 17487254/],
  state_root: [/stateRoot is 0x558973.* after execution/],
  receipts_without_transfer_logs: [/logsBloom is .* after execution/],
  receipts_cumulative_2d: [/receiptsRoot is 0xaaddf0.* after execution/],
  requests_without_builder: [/requestsHash is 0x047837.* after execution/],
  requests_builder_order: [/requestsHash is 0x5cbb56.* after execution/],
  deposit_log_malformed: [/a deposit log has another layout/],
  builder_contract_missing: [/system contract 0x0000bff46984e3725691fa540a8c7589300d8282 .* has no code/],
  bal_account_missing: [/blockAccessListHash is 0xa3d510.* after execution/],
  bal_system_address: [/blockAccessListHash is 0x3607ff.* after execution/],
  bal_unsorted: [
    /blockAccessListHash is 0x79e966.* after execution/,
    /addresses: 0x\S+ comes after 0x\S+, not in order/,
  ],
  bal_balance: [/blockAccessListHash is 0x3bc352.* after execution/],
  bal_write_as_read: [/blockAccessListHash is 0x26f945.* after execution/],
  bal_read_missing: [/blockAccessListHash is 0xe91457.* after execution/],
  bal_index_shifted: [/blockAccessListHash is 0xe2130f.* after execution/],
  bal_withdrawal_index: [/blockAccessListHash is 0x0fc022.* after execution/],
  bal_too_large: [
    /2028 addresses and slots, the block's gas limit allows 1998/,
    /gas limit allows, 1998 addresses and slots/,
  ],
  tx_intrinsic_gas: [/transaction 11 is invalid: intrinsic gas too low/],
  tx_floor_gas: [/transaction 11 is invalid: insufficient gas for floor data/],
  tx_floor_above_cap: [/transaction 11 is invalid: intrinsic gas or floor of data exceeds the maximum/],
  tx_init_code_size: [/transaction 11 is invalid: max initcode size exceeded/],
  tx_gas_above_block_state: [/transaction 12 is invalid: state gas limit reached/],
  tx_gas_above_block_execution: [/transaction 1 is invalid: gas limit reached/],
  tx_auth_list_empty: [/transaction 11 is invalid: set code transaction with empty auth list/],
  block_rlp_above_8MiB: [/block size is \d+, expected at most 8388608 bytes/],
}

/** The block with its list as a fifth element. */
function withList({ blockRlp, blockAccessListRlp }: InvalidBlock): Uint8Array | undefined {
  if (blockAccessListRlp === undefined) return undefined
  const rlp = hexToBytes(blockRlp)
  const parts = rlpListSpans(rlp, rlpSpanAt(rlp, 0)).map(({ start, end }) => rlp.subarray(start, end))
  return encodeRlpListOfEncoded([...parts, hexToBytes(blockAccessListRlp)])
}

t.test('blocks that break a rule of Amsterdam', { skip: withoutAmsterdam }, async (t) => {
  t.testdir()
  let blocks = 0
  for (const [base, cases] of readInvalidBlocks()) {
    const folder = join(amsterdamDir, 'invalid', `base-${base}`)
    const store = ChainWriter.openForWriting({ path: join(t.testdirName, `${base}.mdb`), mapBytes: 2 ** 30 })
    t.teardown(() => store.close())
    const { identity, blockDiff, schedule } = parseGenesis(readFileSync(join(folder, 'genesis.json'), 'utf8'))
    store.initialize(identity, blockDiff)
    const importer = new ChainImporter(store, schedule)
    const { hash, number } = JSON.parse(readFileSync(join(folder, 'head.json'), 'utf8'))
    if (Number(number) > 0) {
      for await (const { rlp } of readChainFile(join(folder, 'chain.rlp')))
        await importer.importBlock(parseBlock(rlp))
    }
    t.equal(bytesToHex(store.head.hash), hash, `the head of ${base}`)
    for (const block of cases) {
      const rule = rules[block.name]
      if (rule === undefined) {
        t.fail(`no rule for ${block.name}: ${block.reason}`)
        continue
      }
      for (const [rlp, message] of [
        [hexToBytes(block.blockRlp), rule[0]],
        [withList(block), rule[1] ?? rule[0]],
      ] as const) {
        if (rlp === undefined) continue
        await t.rejects(
          async () => importer.importBlock(parseBlock(rlp)),
          { message },
          `${block.name}: ${block.reason}`,
        )
        t.equal(bytesToHex(store.head.hash), hash, 'the head does not move')
      }
      blocks++
    }
  }
  t.equal(blocks, Object.keys(rules).length)
})
