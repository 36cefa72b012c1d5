/** Everyday traffic: the usual transactions between the remarkable blocks, from a seeded generator. */
import { type Account, people, stranger } from './accounts.js'
import { forkBlocks } from './forks.js'
import { crowd, type Story } from './story.js'

/** One ether in wei. */
export const ether = 10n ** 18n
/** The ballast lets the base fee, in wei, fall to the first of these and then drives it up to the second. */
const baseFeeLow = 400_000_000n
const baseFeeHigh = 1_200_000_000n
/** Gas that a block with ballast leaves free for its other transactions; the most that everyday traffic needs. */
const everydayGas = 1_600_000n
/** EIP-7825 caps a transaction at 2^24 gas; ballast stays below it before Osaka too. */
const ballastGasMax = 16_000_000n

function pick<T>(story: Story, items: readonly T[]): T {
  return items[Math.floor(story.draw() * items.length)] as T
}

function pickOther(story: Story, one: Account): Account {
  const other = pick(story, crowd)
  return other === one ? pickOther(story, one) : other
}

/** One transaction of the kind that most blocks are full of. */
export function everydayTransaction(story: Story): void {
  const from = pick(story, crowd)
  const choice = story.draw()
  const amount = BigInt(1 + Math.floor(story.draw() * 1000))
  if (choice < 0.35 || !story.contracts.has('Tide')) {
    story.transfer(
      from,
      choice < 0.05 ? stranger(Math.floor(story.draw() * 40)) : pickOther(story, from),
      amount * 10n ** 15n,
    )
  } else if (choice < 0.75 || !story.contracts.has('Exchange')) {
    const token = story.draw() < 0.7 || !story.contracts.has('Foam') ? 'Tide' : 'Foam'
    story.call(
      from,
      token,
      'transfer(address,uint256)',
      [pickOther(story, from).address, amount * 10n ** 15n],
      {
        gas: 100_000n,
      },
    )
  } else {
    story.call(from, 'Exchange', 'swap(bool,uint256,uint256)', [story.draw() < 0.5, amount * 10n ** 15n, 0], {
      gas: 200_000n,
    })
  }
}

/**
 * Burns most of the block's gas while the base fee is to rise. An invalid opcode does that at no cost to those who
 * execute the chain. Queue it last.
 */
function ballast(story: Story): void {
  const baseFee = story.chain.nextBaseFee()
  if (baseFee === undefined) return
  if (baseFee < baseFeeLow) story.feeRises = true
  if (baseFee > baseFeeHigh) story.feeRises = false
  if (!story.feeRises) return
  for (let left = story.chain.nextGasLimit() - everydayGas; left > 100_000n; left -= ballastGasMax) {
    const gas = left < ballastGasMax ? left : ballastGasMax
    story.call(people.ivy, 'Reverter', 'withInvalidOpcode()', [], { gas, fails: true })
  }
}

/** Mines everyday blocks until `number` is the one being written. Every fifth is empty. */
export async function passTimeUntil(story: Story, number: number): Promise<void> {
  while (story.number < number) {
    if (story.number % 5 !== 0) {
      const count = 1 + Math.floor(story.draw() * 4)
      for (let i = 0; i < count; i++) everydayTransaction(story)
      if (story.number > forkBlocks.london) ballast(story)
    }
    await story.mine()
  }
}
