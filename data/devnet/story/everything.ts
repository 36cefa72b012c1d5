/** The whole story, era by era. */
import type { KZG } from 'micro-eth-signer/kzg.js'
import { headNumber } from '../forks.js'
import type { Story } from '../story.js'
import { tellEarlyWork, tellGenesis } from './earlyWork.js'
import { tellLatest } from './latest.js'
import { tellLateWork } from './lateWork.js'
import { tellStake } from './stake.js'

/** Mines blocks 1 to the head. */
export async function tellEverything(story: Story, kzg: KZG): Promise<void> {
  tellGenesis(story)
  await tellEarlyWork(story)
  await tellLateWork(story)
  await tellStake(story, kzg)
  await tellLatest(story, kzg)
  if (story.number !== headNumber + 1) throw new Error(`the story ends at block ${story.number - 1}`)
}
