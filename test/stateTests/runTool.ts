/**
 * Shared code of the tools for Ethereum's tests. They run the files of the arguments, print each failure in a line, and
 * last the counts of passed, failed and skipped cases. The exit status is 1 if a case failed, or none was found.
 * Progress goes to the error output every ten seconds.
 */
import { readTestFiles } from './files.js'

/** Counts of cases. */
export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

export function summaryOf({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`
}

const progressMs = 10_000

/** `run` runs the cases of a file, which `counts` counts. */
export async function runTool(
  name: string,
  counts: Counts,
  run: (path: string, text: string) => void | Promise<void>,
): Promise<void> {
  const paths = process.argv.slice(2)
  const asksHelp = paths.includes('--help')
  if (asksHelp || paths.length === 0) {
    console.error(`usage: npm run -s ${name} -- PATH… (JSON files, folders, .tar.gz)`)
    process.exit(asksHelp ? 0 : 2)
  }
  let files = 0
  let reportedAt = performance.now()
  for (const path of paths) {
    for await (const file of readTestFiles(path)) {
      await run(file.path, file.text)
      files++
      if (performance.now() - reportedAt < progressMs) continue
      reportedAt = performance.now()
      console.error(`${files} files, ${summaryOf(counts)}: ${file.path}`)
    }
  }
  console.log(summaryOf(counts))
  if (counts.failed > 0 || counts.passed + counts.skipped === 0) process.exitCode = 1
}
