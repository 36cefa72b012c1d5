/** Makes the table of families in docs/networks.md from the program's own data. */
import { basisOf, shownParts } from '../src/data/chain/families/basis.js'
import { provedFamilies } from '../src/data/chain/families/provedFamilies.js'
import { provedNetworks } from '../src/data/chain/families/provedNetworks.js'
import { knownNetworkNames } from '../src/data/chain/knownNetworks.js'
import { TablePage } from './tablePage.js'

export const networksPage = new TablePage('docs/networks.md', () => ({
  head: ['family', 'networks, by their names here', ...shownParts],
  rows: ['ethereum', ...provedFamilies.keys()].map(rowOf),
}))

function rowOf(family: string): string[] {
  const own = provedNetworks.flatMap(([, name, of]) => (of === family ? [name] : []))
  const identity = { config: '{}', gateway: true } as const
  const basis = basisOf(family === 'ethereum' ? identity : { ...identity, family })
  const names = family === 'ethereum' ? knownNetworkNames : own
  return [family, names.join(', '), ...shownParts.map((part) => basis[part] ?? '')]
}

networksPage.writeIfRun(import.meta.url)
