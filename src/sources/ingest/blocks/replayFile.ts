/**
 * Plays a chain file, one block per interval, with scripted reorganisations. Owns the order and timing of blocks; the
 * importer decides what happens to a block.
 */
import { setImmediate } from 'node:timers/promises'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { bytesToBigInt, bytesToHex, equalBytes, type Hash32 } from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import type { ReplayPlan, ReplayStep, ReplayTask } from '../thread/messages.js'
import { Ticker } from '../thread/pace.js'
import { publishFigures } from '../thread/publishFigures.js'
import { runSource, type Source, type SourceHost } from '../thread/runSource.js'
import type { Block } from './block.js'
import { readChainFile } from './chainFile.js'
import { type ImportSession, sizeOfFile, visitBlocks } from './importSession.js'

/**
 * Imports the blocks of a file up to `from` at full speed, then one block per interval. Canonical blocks above `from`
 * are unwound first, so that every start plays the same. Ends after a whole block once the signal is aborted. Rejects
 * with OperatorError for a cause that the operator can remove; earlier blocks stay.
 */
export async function replayFile(task: ReplayTask, host: SourceHost): Promise<void> {
  const bytesTotal = await sizeOfFile(task.replay.file)
  await checkStart(task.replay)
  await checkScript(task.replay.script)
  await runSource(task, host, async (source) => {
    const { store, importer, session, onEnd } = source
    session.bytesTotal = bytesTotal
    await unwindTo(task.replay.from, store, host.signal)
    // Readers open the store only after the unwinding, so that they never see the head of the previous run.
    host.report({ type: 'opened' })
    onEnd(publishFigures(host.report, { store, importer }))
    await new Replay(task.replay, source, host).run()
  })
}

/** Throws OperatorError if the file begins above block `from` + 1, so that nothing is unwound without a replacement. */
async function checkStart({ file, from }: ReplayPlan): Promise<void> {
  let first = 0
  await visitBlocks(file, readChainFile(file), async ({ header }) => {
    first = header.number
    return false
  })
  if (first > from + 1) {
    throw new OperatorError(
      `source.from: ${file} begins with block ${first}, so it cannot be played from block ${from} on`,
    )
  }
}

async function unwindTo(number: number, store: ChainWriter, signal: AbortSignal): Promise<void> {
  while (store.head.number > number && !signal.aborted) {
    unwindHead(store)
    // Lets a stop message arrive.
    await setImmediate()
  }
}

/** Unwinds one block per transaction. */
function unwindHead(store: ChainWriter): void {
  store.apply(store.head.number - 1, [])
}

class Replay {
  /** Set once block `from` is the head. */
  #pace: Ticker | undefined
  #stepsDone = 0
  /** The last block of the file so far. */
  #last: Block | undefined
  readonly #plan: ReplayPlan
  readonly #store: ChainWriter
  readonly #session: ImportSession
  readonly #host: SourceHost

  constructor(plan: ReplayPlan, { store, session }: Source, host: SourceHost) {
    this.#plan = plan
    this.#store = store
    this.#session = session
    this.#host = host
  }

  async run(): Promise<void> {
    const { file, from, script } = this.#plan
    if (from === 0) this.#keepPace()
    const isWhole = await visitBlocks(file, readChainFile(file, this.#session.countReads()), (block) => {
      this.#last = block
      return this.#pace === undefined ? this.#fastForward(block) : this.#playNext(block)
    })
    if (!isWhole || this.#host.signal.aborted) return
    const end = `${file} ends with block ${this.#last?.header.number}`
    if (this.#pace === undefined) throw new OperatorError(`source.from: ${end}, before block ${from}`)
    const step = script[this.#stepsDone]
    if (step !== undefined) throw misfit(this.#stepsDone, 'after', `${end}, before block ${step.after}`)
  }

  /** Imports a block up to `from` at full speed. As in the methods below, false means that the replay must end. */
  async #fastForward(block: Block): Promise<boolean> {
    if (this.#host.signal.aborted) return false
    const { file, from } = this.#plan
    const head = this.#store.head
    if (block.header.number > from) {
      // The file begins above block `from`, or has another block with that number.
      if (head.number !== from) throw new OperatorError(`source.from: ${file} has no block ${from}`)
      await this.#session.commit()
      this.#keepPace()
      return this.#playNext(block)
    }
    if (block.header.number < from) {
      await this.#session.import(block)
      return true
    }
    // A branch with more difficulty, left by another script, is unwound as far as necessary.
    while ((await this.#session.play(block)).outcome === 'side') unwindHead(this.#store)
    this.#keepPace()
    return true
  }

  #keepPace(): void {
    this.#pace = new Ticker(this.#plan.intervalMs, this.#host.signal)
    this.#host.report({ type: 'head' })
  }

  /** Plays the next block of the file, and the reorganisation that follows it. */
  async #playNext(block: Block): Promise<boolean> {
    if (!(await this.#play(block))) return false
    const index = this.#stepsDone
    const step = this.#plan.script[index]
    if (step?.after !== block.header.number) return true
    this.#stepsDone++
    return this.#reorganise(step, index, block)
  }

  /** Waits for the next due time and plays a block. */
  async #play(block: Block): Promise<boolean> {
    if (!(await this.#pace?.wait())) return false
    const { outcome } = await this.#session.play(block)
    if (outcome === 'canonical') this.#host.report({ type: 'head' })
    return true
  }

  /** Plays the competing blocks of a step that follows `block` of the file. */
  async #reorganise(step: ReplayStep, index: number, block: Block): Promise<boolean> {
    const { after, back, file } = step
    if (!this.#isHead(block)) {
      const why = `block ${after} is not the head, because the chain without it has more total difficulty`
      throw misfit(index, 'after', why)
    }
    let last: Block | undefined
    const isWhole = await visitBlocks(file, readChainFile(file), async (block) => {
      if (last === undefined) this.#checkBranch(block, after - back, step, index)
      last = block
      return this.#play(block)
    })
    if (!isWhole || last === undefined) return false
    if (!this.#isHead(last)) {
      const why = `total difficulty ${this.#difficultyOf(last.hash)} of its last block ${last.header.number} does not exceed`
      throw misfit(
        index,
        'file',
        `${file} takes back nothing: ${why} ${this.#difficultyOf(block.hash)} of ${after}`,
      )
    }
    return true
  }

  /**
   * Throws OperatorError unless the first competing block has the canonical block `base` as parent and is not
   * canonical itself.
   */
  #checkBranch({ hash, header }: Block, base: number, { file }: ReplayStep, index: number): void {
    const { number, parentHash } = header
    const baseHash = this.#store.readCanonicalHash(base) as Hash32
    if (!equalBytes(parentHash, baseHash)) {
      const parents = `it is on ${bytesToHex(parentHash)}, block ${base} is ${bytesToHex(baseHash)}`
      throw misfit(index, 'file', `${file} begins with block ${number} of another chain: ${parents}`)
    }
    if (this.#store.isCanonical(number, hash)) {
      throw misfit(index, 'file', `${file} takes back nothing: it begins with the same block ${number}`)
    }
  }

  #isHead({ hash }: Block): boolean {
    return equalBytes(this.#store.head.hash, hash)
  }

  #difficultyOf(hash: Hash32): bigint {
    return bytesToBigInt(this.#store.readTotalDifficulty(hash) ?? new Uint8Array(0))
  }
}

/** Checks each file of competing blocks without the chain: numbers and links. */
async function checkScript(script: readonly ReplayStep[]): Promise<void> {
  for (const [index, { after, back, file }] of script.entries()) {
    let last: Block | undefined
    const begin = after - back + 1
    await visitBlocks(file, readChainFile(file), async (block) => {
      const { number, parentHash } = block.header
      if (last === undefined && number !== begin) {
        const why = `${file} begins with block ${number}; in place of ${back} up to ${after} it has to be ${begin}`
        throw misfit(index, 'file', why)
      }
      if (last !== undefined && !equalBytes(parentHash, last.hash)) {
        throw misfit(index, 'file', `in ${file} block ${number} does not follow on ${last.header.number}`)
      }
      last = block
      return true
    })
  }
}

function misfit(index: number, key: keyof ReplayStep, why: string): OperatorError {
  return new OperatorError(`source.script[${index}].${key}: ${why}`)
}
