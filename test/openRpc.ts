/** Answers held against what the methods declare of their results. */
import { Ajv } from 'ajv'
import type { Method } from '../src/rpc/method.js'
import { methods } from '../src/rpc/registry.js'
import { rollupMethods } from '../src/rpc/rollupRegistry.js'

const ajv = new Ajv({ strict: false, inlineRefs: false })
const all: Readonly<Record<string, Method<never>>> = { ...methods, ...rollupMethods }
const validators = new Map<string, ReturnType<Ajv['compile']>>()

/** Throws Error where a result is not what its method declares. A method of an unknown name may answer anything. */
export function checkResult(method: string, result: unknown): void {
  const declared = Object.hasOwn(all, method) ? all[method]?.result : undefined
  if (declared === undefined) return
  let validate = validators.get(method)
  if (validate === undefined) {
    validate = ajv.compile(declared)
    validators.set(method, validate)
  }
  if (validate(result)) return
  const faults = JSON.stringify(validate.errors?.slice(0, 4))
  throw new Error(
    `${method} answers what it does not declare: ${faults}: ${JSON.stringify(result).slice(0, 400)}`,
  )
}
