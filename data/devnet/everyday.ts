/** Everyday traffic: what fills the blocks between the remarkable ones, drawn from a seeded generator. */
import { type Account, people, stranger } from './accounts.js'
import { forkBlocks } from './forks.js'
import { crowd, type Story } from './story.js'

/** One ether in wei. */
export const ether = 10n ** 18n
/** The ballast lets the base fee, in wei, fall to the first of these and then drives it up to the second. */
const baseFeeLow = 400_000_000n
const baseFeeHigh = 1_200_000_000n
/** What a block with ballast keeps free for its other transactions; the most that everyday traffic asks for. */
const everydayGas = 1_600_000n
/** EIP-7825 caps a transaction at 2^24 gas; ballast stays below it before Osaka too. */
const ballastGasMax = 16_000_000n

/** Mulberry32: the same numbers on every run. */
function createGenerator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

let draw = createGenerator(8433)
let feeRises = false

/** Starts the generator anew, so that a second chain in one process equals the first. */
export function restartEveryday(): void {
  draw = createGenerator(8433)
  feeRises = false
}

function pick<T>(items: readonly T[]): T {
  return items[Math.floor(draw() * items.length)] as T
}

function pickOther(one: Account): Account {
  const other = pick(crowd)
  return other === one ? pickOther(one) : other
}

/** One transaction of the kind that most blocks are full of. */
export function everydayTransaction(story: Story): void {
  const from = pick(crowd)
  const choice = draw()
  const amount = BigInt(1 + Math.floor(draw() * 1000))
  if (choice < 0.35 || !story.contracts.has('Tide')) {
    story.transfer(
      from,
      choice < 0.05 ? stranger(Math.floor(draw() * 40)) : pickOther(from),
      amount * 10n ** 15n,
    )
  } else if (choice < 0.75 || !story.contracts.has('Exchange')) {
    const token = draw() < 0.7 || !story.contracts.has('Foam') ? 'Tide' : 'Foam'
    story.call(from, token, 'transfer(address,uint256)', [pickOther(from).address, amount * 10n ** 15n], {
      gas: 100_000n,
    })
  } else {
    story.call(from, 'Exchange', 'swap(bool,uint256,uint256)', [draw() < 0.5, amount * 10n ** 15n, 0], {
      gas: 200_000n,
    })
  }
}

/**
 * Burns most of the block's gas while the base fee is to rise. An invalid opcode does that at no cost to those who
 * execute the chain. Queue it last.
 */
export function ballast(story: Story): void {
  const baseFee = story.chain.nextBaseFee()
  if (baseFee === undefined) return
  if (baseFee < baseFeeLow) feeRises = true
  if (baseFee > baseFeeHigh) feeRises = false
  if (!feeRises) return
  for (let left = story.chain.nextGasLimit() - everydayGas; left > 100_000n; left -= ballastGasMax) {
    const gas = left < ballastGasMax ? left : ballastGasMax
    story.call(people.ivy, 'Reverter', 'withInvalidOpcode()', [], { gas, fails: true })
  }
}

/** Mines everyday blocks until `number` is the one being written. Every fifth is empty. */
export async function passTimeUntil(story: Story, number: number): Promise<void> {
  while (story.number < number) {
    if (story.number % 5 !== 0) {
      const count = 1 + Math.floor(draw() * 4)
      for (let i = 0; i < count; i++) everydayTransaction(story)
      if (story.number > forkBlocks.london) ballast(story)
    }
    await story.mine()
  }
}
