/** Runs the cases of files of state tests and counts the outcomes. */
import { type JsonStateTest, runCase } from './stateTest.js'

export class Tally {
  passed = 0
  failed = 0
  skipped = 0
  readonly forks = new Set<string>()
  readonly #report: (line: string) => void

  /** `report` gets a line for each case that failed and each test that was skipped. */
  constructor(report: (line: string) => void) {
    this.#report = report
  }

  run(path: string, text: string): void {
    const tests = JSON.parse(text) as Readonly<Record<string, JsonStateTest>>
    for (const [name, test] of Object.entries(tests)) {
      if (test.post === undefined || test.transaction === undefined) {
        this.skipped++
        this.#report(`skipped ${path} ${name}: it is no state test`)
        continue
      }
      for (const [fork, cases] of Object.entries(test.post)) {
        this.forks.add(fork)
        for (const [index, post] of cases.entries()) {
          const problem = problemOf(() => runCase(test, fork, post).problem)
          if (problem === undefined) this.passed++
          else {
            this.failed++
            this.#report(`failed ${path} ${name} ${fork} ${index}: ${problem}`)
          }
        }
      }
    }
  }
}

function problemOf(run: () => string | undefined): string | undefined {
  try {
    return run()
  } catch (error) {
    return `thrown: ${error instanceof Error ? (error.stack ?? error.message) : error}`
  }
}
