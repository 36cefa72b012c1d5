/**
 * Makes the table of families in docs/networks.md from what the program knows of them. Run as a program (`npm run docs`)
 * it rewrites the page.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { basisOf, provedFamilyNames } from '../src/data/chain/families/provedFamilies.js'
import { shownParts } from '../src/data/chain/families/provedFamily.js'
import { provedNetworks } from '../src/data/chain/families/provedNetworks.js'
import { knownNetworkNames } from '../src/data/chain/knownNetworks.js'
import { packageRoot } from '../src/primitives/packageRoot.js'

const tablePattern = /(?<=<!-- What is between [^\n]*-->\n).*(?=<!-- End\. -->)/s

export const networksPagePath = join(packageRoot(), 'docs/networks.md')

/** The page with a new table. Throws RangeError where the page has no marks around the table. */
export function renderNetworksPage(page: string): string {
  if (!tablePattern.test(page))
    throw new RangeError('docs/networks.md has lost the comments around its table')
  const head = ['family', 'networks, by their names here', ...shownParts]
  const rows = [head, head.map(() => '---'), ...provedFamilyNames.map(rowOf)]
  const table = rows.map((cells) => `| ${cells.join(' | ')} |\n`)
  return page.replace(tablePattern, () => `\n${table.join('')}\n`)
}

function rowOf(family: string): string[] {
  const own = provedNetworks.flatMap(([, name, of]) => (of === family ? [name] : []))
  const basis = basisOf({ family, gateway: true })
  const names = family === 'ethereum' ? knownNetworkNames : own
  return [family, names.join(', '), ...shownParts.map((part) => basis[part] ?? '')]
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(networksPagePath, renderNetworksPage(readFileSync(networksPagePath, 'utf8')))
}
