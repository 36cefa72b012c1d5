import { blockAccessListHash } from '../../../data/chain/blockAccessList.js'
import type { Header } from '../../../data/chain/header.js'
import type { ExecutedBlock } from '../../../execution/evm/blocks/executeBlock.js'
import { InvalidBlockError } from '../../../execution/evm/blocks/invalidBlock.js'
import { bytesToHex, type Hash32 } from '../../../primitives/bytes.js'

/** Compares the results of execution with the header. Throws InvalidBlockError that names every difference. */
export function compareWithHeader(header: Header, executed: ExecutedBlock): void {
  const differences: string[] = []
  const compare = (field: string, got: string, want: string) => {
    if (got !== want) differences.push(`${field} is ${got} after execution, the header says ${want}`)
  }
  compare('gasUsed', String(executed.gasUsed), String(header.gasUsed))
  compare('receiptsRoot', bytesToHex(executed.receiptsRoot), bytesToHex(header.receiptsRoot))
  compare('logsBloom', bytesToHex(executed.logsBloom), bytesToHex(header.logsBloom))
  compare('stateRoot', bytesToHex(executed.changes.stateRoot), bytesToHex(header.stateRoot))
  const text = (hash: Hash32 | undefined) => (hash === undefined ? 'absent' : bytesToHex(hash))
  compare('requestsHash', text(executed.requestsHash), text(header.requestsHash))
  const { withdrawalsRoot } = executed
  if (withdrawalsRoot !== undefined)
    compare('withdrawalsRoot', text(withdrawalsRoot), text(header.withdrawalsRoot))
  const list = executed.blockAccessList
  compare('blockAccessListHash', text(list && blockAccessListHash(list)), text(header.blockAccessListHash))
  if (differences.length > 0) throw new InvalidBlockError(differences.join('; '))
}
