import type { Parser, Result } from 'tap-parser'

/** The lines of a diagnosis: the longest differences are of whole blocks, which the file alone shows. */
const diagnosisLinesMax = 60

/** What a run of one test file says. It also finds what a test library does not count: tests that check nothing. */
export class TestFindings {
  passed = 0
  /** `test: reason`. */
  readonly skipped: string[] = []
  /** Titles of what failed, each with its diagnosis on further lines. */
  readonly failures: string[] = []

  /** Takes an assertion, or a test that was skipped. */
  add(result: Result): void {
    const { ok, skip, diag } = result
    const title = titleOf(result)
    if (typeof skip === 'string') this.skipped.push(`${title}: ${skip}`)
    else if (skip) this.failures.push(`${title}: is skipped and does not say why`)
    else if (ok) this.passed++
    else this.failures.push([title, ...diagnosisOf(diag)].join('\n'))
  }

  /** Takes a test and those within it, from its beginning. */
  watch(test: Parser): void {
    test.on('child', (child) => this.watch(child))
    test.on('complete', ({ count, plan }) => {
      // A plan of no tests with a comment is how a whole file is skipped.
      if (count === 0 && plan.comment === '') this.failures.push(`${titleOf(test)}: checks nothing`)
    })
  }
}

/** The title of a test and of those around it, without the file, under which all of this is shown. */
function titleOf({ fullname }: { readonly fullname: string }): string {
  return fullname.replace(/^\S+\.test\.js > /, '')
}

/** What helps of a diagnosis: where it is, the difference, and the stack. */
function diagnosisOf(diag: unknown): string[] {
  if (typeof diag !== 'object' || diag === null) return []
  const { at, ...parts } = diag as Readonly<Record<string, unknown>>
  const place = at as { readonly fileName?: string; readonly lineNumber?: number } | undefined
  const named = ['message', 'diff', 'found', 'wanted', 'stack', 'error'].flatMap((name) => {
    const part = parts[name]
    // A difference shows both values.
    if (part === undefined || (['found', 'wanted'].includes(name) && 'diff' in parts)) return []
    return `${name}: ${typeof part === 'string' ? part.trimEnd() : JSON.stringify(part)}`.split('\n')
  })
  const lines = [...(place?.fileName ? [`at ${place.fileName}:${place.lineNumber}`] : []), ...named]
  return lines.slice(0, diagnosisLinesMax)
}
