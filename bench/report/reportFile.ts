/** Reports as files: JSON, which can be read again, and the page. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { htmlReport } from './htmlReport.js'
import type { Report } from './outcome.js'

/** Writes both into `folder`, named after the time of the run. Returns their path without its ending. */
export function writeReport(report: Report, folder: string): string {
  mkdirSync(folder, { recursive: true })
  const stem = join(folder, report.startedAt.slice(0, 19).replaceAll(':', '-'))
  writeFileSync(`${stem}.json`, `${JSON.stringify(report, null, 2)}\n`)
  writeFileSync(`${stem}.html`, htmlReport(report))
  return stem
}

/** Reads the JSON of a run. Throws RangeError that begins with `flag` for any other file. */
export function readReport(flag: string, path: string): Report {
  let report: Partial<Report>
  try {
    report = JSON.parse(readFileSync(path, 'utf8')) as Partial<Report>
  } catch (error) {
    throw new RangeError(`${flag}: ${path}: ${(error as Error).message}`)
  }
  if (!Array.isArray(report.findings)) throw new RangeError(`${flag}: ${path} is no report of a run`)
  return report as Report
}
