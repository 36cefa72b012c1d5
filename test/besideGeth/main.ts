/**
 * `npm run beside-geth`: sends the same calls to a go-ethereum and a Tidegate, and prints the differences. See
 * `options.ts`.
 */
import { Dice } from '../library/property.js'
import { callQuestions } from './callQuestions.js'
import { compare } from './comparison.js'
import type { Answer, Question } from './endpoint.js'
import { besideGethEngine } from './engineMain.js'
import { readFacts } from './facts.js'
import { help, OptionError, type Options, readOptions } from './options.js'
import { readQuestions } from './readQuestions.js'
import { Report } from './report.js'
import { awaitSameHead, openPair, type Pair } from './servers.js'
import { traceQuestions } from './traceQuestions.js'

/** Calls of one batch: traces of blocks in it stay below the 25 MB that both allow an answer. */
const batchCalls = 10
/** Number of repetitions of a difference, because the head may have moved meanwhile. */
const triesMax = 3
/** Time between two lines about the progress. */
const progressMs = 5_000

const say = (line: string): void => console.log(line)

/** The answer of a batch may be too long although those of its calls are not. */
async function askAlone(pair: Pair, question: Question, answers: readonly [Answer, Answer]) {
  const [geth, ours] = answers
  if ((geth.error === undefined) === (ours.error === undefined)) return answers
  const alone = await Promise.all([pair.geth.answers([question]), pair.ours.answers([question])])
  return alone.map(([answer]) => answer as Answer) as [Answer, Answer]
}

/** Answers of both to a batch; again, as long as the head moved meanwhile. */
async function askBoth(pair: Pair, batch: readonly Question[]): Promise<(readonly [Answer, Answer])[]> {
  for (let tries = 1; ; tries++) {
    const before = await awaitSameHead(pair)
    const [geth, ours] = await Promise.all([pair.geth.answers(batch), pair.ours.answers(batch)])
    const after = await awaitSameHead(pair)
    if (before === after || tries === triesMax) {
      return batch.map((_, at) => [geth[at] as Answer, ours[at] as Answer])
    }
  }
}

/** Compares all questions. Returns the number of unknown differences. */
async function compareAll(pair: Pair, options: Options): Promise<number> {
  const { seed, only } = options
  const facts = await readFacts(pair.geth, await awaitSameHead(pair), options.blocks, new Dice(seed))
  const versions = [pair.geth, pair.ours].map((each) => each.result('web3_clientVersion', []))
  say(
    `${(await Promise.all(versions)).join(' and ')}: ${facts.head + 1} blocks, ${facts.blocks.length} of them are asked about`,
  )
  if (facts.withState.length < facts.blocks.length) {
    say(
      `geth holds the state of ${facts.withState.length} of these blocks; of the others no state is asked for`,
    )
  }
  // Each part has its own dice: more calls do not change the other questions.
  const questions = [
    ...readQuestions(facts, new Dice(seed + 1)),
    ...traceQuestions(facts, new Dice(seed + 2)),
    ...callQuestions(facts, options.calls, new Dice(seed + 3)),
  ].filter(({ method }) => only.length === 0 || only.includes(method))
  const report = new Report(options.shown, options.comparesTexts)
  let saidMs = performance.now()
  for (let start = 0; start < questions.length; start += batchCalls) {
    const batch = questions.slice(start, start + batchCalls)
    for (const [at, both] of (await askBoth(pair, batch)).entries()) {
      const question = batch[at] as Question
      const [geth, ours] = await askAlone(pair, question, both)
      report.add(question, await compare({ question, geth, ours }, pair.geth))
    }
    if (performance.now() - saidMs < progressMs) continue
    say(`${start + batch.length} of ${questions.length} compared, ${report.unknown} different`)
    saidMs = performance.now()
  }
  report.print(say)
  say(`seed ${seed}: ${questions.length} compared, ${report.unknown} different`)
  return questions.length === 0 ? Number.NaN : report.unknown
}

async function main(words: readonly string[]): Promise<number> {
  const options = readOptions(words)
  if (options === undefined) {
    say(help)
    return 0
  }
  say(`seed ${options.seed} (repeat with --seed ${options.seed})`)
  const { seed, engineSteps: steps, geth, shown } = options
  if (steps !== undefined)
    return Math.min(await besideGethEngine(geth as string, { seed, steps, shown }, say), 1)
  const pair = await openPair(options, say)
  try {
    const unknown = await compareAll(pair, options)
    return Number.isNaN(unknown) ? 2 : Math.min(unknown, 1)
  } finally {
    await pair.stop()
  }
}

process.exitCode = await main(process.argv.slice(2)).catch((error: Error) => {
  console.error(`beside-geth: ${error.message}${error instanceof OptionError ? '; see --help' : ''}`)
  return 2
})
