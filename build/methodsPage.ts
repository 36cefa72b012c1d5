/**
 * Makes the list in docs/methods.md from the descriptions of the methods. Run as a program (`npm run docs`) it
 * rewrites the page.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageRoot } from '../src/primitives/packageRoot.js'
import type { Method } from '../src/serving/rpc/method.js'
import { methods } from '../src/serving/rpc/registry.js'

const listPattern = /(?<=<!-- What is between [^\n]*-->\n).*(?=<!-- End\. -->)/s

export const methodsPagePath = join(packageRoot(), 'docs/methods.md')

/** The page with a new list. Throws RangeError where the page has no marks around the list. */
export function renderMethodsPage(page: string): string {
  if (!listPattern.test(page)) throw new RangeError('docs/methods.md has lost the comments around its list')
  return page.replace(listPattern, () => `\n${renderList()}\n`)
}

function renderList(): string {
  const rows = Object.values<Method<never>>(methods).map(renderRow)
  return ['| method | parameters | result |', '| --- | --- | --- |', ...rows, ''].join('\n')
}

function renderRow({ name, params, summary }: Method<never>): string {
  const named = params.map((param) => (param.required ? param.name : `${param.name}?`))
  return `| \`${name}\` | ${named.join(', ')} | ${summary} |`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(methodsPagePath, renderMethodsPage(readFileSync(methodsPagePath, 'utf8')))
}
