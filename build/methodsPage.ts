/** Makes the list in docs/methods.md from the descriptions of the methods. */
import type { Method } from '../src/serving/rpc/method.js'
import { methods } from '../src/serving/rpc/registry.js'
import { TablePage } from './tablePage.js'

export const methodsPage = new TablePage('docs/methods.md', () => ({
  head: ['method', 'parameters', 'result'],
  rows: Object.values<Method<never>>(methods).map(({ name, params, summary }) => {
    const named = params.map((param) => (param.required ? param.name : `${param.name}?`))
    return [`\`${name}\``, named.join(', '), summary ?? '']
  }),
}))

methodsPage.writeIfRun(import.meta.url)
