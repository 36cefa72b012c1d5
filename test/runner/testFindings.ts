import type { t } from 'tap'

type Parser = NonNullable<ReturnType<typeof t.spawn>['subtest']>['parser']

/** What a test library does not count: tests that check nothing, and why tests are skipped. */
export class TestFindings {
  /** `file > test: reason`, in the order of their ends. */
  readonly skipped: string[] = []
  /** `file > test: what is wrong with it`. */
  readonly faults: string[] = []

  /** Takes the output of one test file, from its beginning. */
  watch(file: Parser): void {
    file.on('skip', ({ fullname, skip }) => {
      if (typeof skip === 'string') this.skipped.push(`${fullname}: ${skip}`)
      else this.faults.push(`${fullname}: is skipped and does not say why`)
    })
    this.#watchAssertions(file)
  }

  #watchAssertions(parser: Parser): void {
    parser.on('complete', ({ count, plan }) => {
      // A plan of no tests with a comment is how a whole file is skipped.
      if (count === 0 && plan.comment === '') this.faults.push(`${parser.fullname}: checks nothing`)
    })
    parser.on('child', (child) => this.#watchAssertions(child))
  }
}
