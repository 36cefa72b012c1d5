/** Module hook of `manyFiles.ts`: test files get `currentTest.ts` when they import the test library. */
import type { ResolveHook } from 'node:module'

const current = new URL('currentTest.js', import.meta.url).href

export const resolve: ResolveHook = (specifier, context, next) => {
  const isOfTest = specifier === 'tap' && !context.parentURL?.startsWith(new URL('.', import.meta.url).href)
  return isOfTest ? { url: current, shortCircuit: true } : next(specifier, context)
}
