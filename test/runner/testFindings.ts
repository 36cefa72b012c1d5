import type { Parser, Result } from 'tap-parser'

/** Limit of lines for a diagnosis: the longest differences are of whole blocks; run the file alone to see them. */
const diagnosisLinesMax = 60

/** The results of one test file. It also finds failures that the test library does not count: tests without a check. */
export class TestFindings {
  passed = 0
  /** `test: reason`. */
  readonly skipped: string[] = []
  /** Titles of failures, each with its diagnosis on further lines. */
  readonly failures: string[] = []

  /** Adds an assertion, or a skipped test. */
  add(result: Result): void {
    const { ok, skip, diag } = result
    const title = titleOf(result)
    if (typeof skip === 'string') this.skipped.push(`${title}: ${skip}`)
    else if (skip) this.failures.push(`${title}: is skipped and does not say why`)
    else if (ok) this.passed++
    else this.failures.push([title, ...diagnosisOf(diag)].join('\n'))
  }

  /** Watches a test and its subtests from the start. */
  watch(test: Parser): void {
    test.on('child', (child) => this.watch(child))
    test.on('complete', ({ count, plan }) => {
      // A whole file is skipped by a plan of no tests with a comment.
      if (count === 0 && plan.comment === '') this.failures.push(`${titleOf(test)}: checks nothing`)
    })
  }
}

/** The title of a test and of those around it, without the file, under which it is printed. */
function titleOf({ fullname }: { readonly fullname: string }): string {
  return fullname.replace(/^\S+\.test\.js > /, '')
}

/** The useful parts of a diagnosis: place, difference, and stack. */
function diagnosisOf(diag: unknown): string[] {
  if (typeof diag !== 'object' || diag === null) return []
  const { at, ...parts } = diag as Readonly<Record<string, unknown>>
  const place = at as { readonly fileName?: string; readonly lineNumber?: number } | undefined
  const named = ['message', 'diff', 'found', 'wanted', 'stack', 'error'].flatMap((name) => {
    const part = parts[name]
    // A difference contains both values.
    if (part === undefined || (['found', 'wanted'].includes(name) && 'diff' in parts)) return []
    return `${name}: ${typeof part === 'string' ? part.trimEnd() : JSON.stringify(part)}`.split('\n')
  })
  const lines = [...(place?.fileName ? [`at ${place.fileName}:${place.lineNumber}`] : []), ...named]
  return lines.slice(0, diagnosisLinesMax)
}
