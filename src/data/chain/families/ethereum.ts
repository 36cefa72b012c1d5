/** Ethereum, and all chains with its rules. */
import { transactionTypes } from '../../../primitives/transactionTypes.js'
import { gasPerBlob, nextBaseFee, nextExcessBlobGas } from '../feeMarket.js'
import { type ForkName, forkNames, includesFork } from '../forkNames.js'
import { gasLimitMax } from '../intrinsicGas.js'
import { type Basis, type ChainFamily, type Child, type HeaderRules, networkParts } from './family.js'

const gasLimitMin = 5000n
const gasLimitBoundDivisor = 1024n
const extraDataBytesMax = 32
/** EIP-7934: 10 MiB less 2 MiB for the consensus layer. */
const blockRlpBytesMax = 8 * 1024 * 1024

/** The first block with a base fee has twice the gas limit (EIP-1559). */
function limitBefore(gasLimit: bigint, { number, config }: Child): bigint {
  return number === config.blocks.get('london') ? 2n * gasLimit : gasLimit
}

const check: HeaderRules['check'] = (header, parent, child, must) => {
  const { extraData, gasLimit, blobGasUsed, excessBlobGas } = header
  const { fork, blobs } = child
  const extra = `${extraData.length} bytes`
  must(extraData.length <= extraDataBytesMax, 'extraData', extra, `at most ${extraDataBytesMax} bytes`)
  const before = limitBefore(parent.gasLimit, child)
  const step = gasLimit > before ? gasLimit - before : before - gasLimit
  const isNear = step < before / gasLimitBoundDivisor
  const isRight = isNear && gasLimit >= gasLimitMin && gasLimit <= gasLimitMax
  must(isRight, 'gasLimit', gasLimit, `less than 1/1024 away from ${before}`)
  const baseFee = includesFork(fork, 'london') ? nextBaseFee(parent) : undefined
  const price = header.baseFeePerGas
  must(price === baseFee, 'baseFeePerGas', price ?? 'absent', String(baseFee ?? 'none'))
  if (blobGasUsed === undefined || blobs === undefined) return
  const most = BigInt(blobs.max) * gasPerBlob
  const isWhole = blobGasUsed <= most && blobGasUsed % gasPerBlob === 0n
  must(isWhole, 'blobGasUsed', blobGasUsed, `a multiple of ${gasPerBlob} up to ${most}`)
  const excess = nextExcessBlobGas(parent, fork, blobs)
  must(excessBlobGas === excess, 'excessBlobGas', excessBlobGas ?? 'absent', String(excess))
}

/** Every part is verified in this manner. */
export function allParts(basis: Basis): ChainFamily['parts'] {
  return Object.fromEntries(networkParts.map((part) => [part, basis])) as ChainFamily['parts']
}

/** Calls run by the rules of blocks. */
export const executedCalls: ChainFamily['calls'] = {
  unknown: { opcodes: new Set(), addresses: new Set() },
  asked: [],
  reads: [],
}

export const ethereum: ChainFamily = {
  title: 'Ethereum',
  forks: forkNames,
  config: {
    isOf: () => true,
    blocks: new Map(),
    times: new Map(),
    others: new Set(),
    complete: (parsed) => parsed,
  },
  transactionTypes,
  headers: {
    slotSeconds: 12,
    blockBytesMax: (fork: ForkName) => (includesFork(fork, 'osaka') ? blockRlpBytesMax : undefined),
    nextBaseFee,
    child: (parent, child) => ({
      gasLimit: limitBefore(parent.gasLimit, child),
      extraData: new Uint8Array(0),
      blobGasUsed: 0n,
      excessBlobGas: child.blobs === undefined ? 0n : nextExcessBlobGas(parent, child.fork, child.blobs),
    }),
    check,
  },
  proofs: { hasWithdrawals: () => true },
  parts: allParts('executed'),
  reportable: [],
  calls: executedCalls,
  execution: { hasRequests: true },
}
