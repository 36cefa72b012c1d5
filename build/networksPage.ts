/** Makes the table of families in docs/networks.md from the program's own data. */
import { basisOf, provedFamilyNames } from '../src/data/chain/families/provedFamilies.js'
import { shownParts } from '../src/data/chain/families/provedFamily.js'
import { provedNetworks } from '../src/data/chain/families/provedNetworks.js'
import { knownNetworkNames } from '../src/data/chain/knownNetworks.js'
import { TablePage } from './tablePage.js'

export const networksPage = new TablePage('docs/networks.md', () => ({
  head: ['family', 'networks, by their names here', ...shownParts],
  rows: provedFamilyNames.map(rowOf),
}))

function rowOf(family: string): string[] {
  const own = provedNetworks.flatMap(([, name, of]) => (of === family ? [name] : []))
  const basis = basisOf({ family, gateway: true })
  const names = family === 'ethereum' ? knownNetworkNames : own
  return [family, names.join(', '), ...shownParts.map((part) => basis[part] ?? '')]
}

networksPage.writeIfRun(import.meta.url)
