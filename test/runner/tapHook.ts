/** Module hook of `manyFiles.ts`: what test files import as the test library is `currentTest.ts`. */
import type { ResolveHook } from 'node:module'

const current = new URL('currentTest.js', import.meta.url).href

export const resolve: ResolveHook = (specifier, context, next) => {
  const isOfTest = specifier === 'tap' && !context.parentURL?.startsWith(new URL('.', import.meta.url).href)
  return isOfTest ? { url: current, shortCircuit: true } : next(specifier, context)
}
