/** Answers, and the parameters that were answered, held against what the methods declare of them. */
import { Ajv, type ValidateFunction } from 'ajv'
import type { Method } from '../../src/serving/rpc/method.js'
import { methods } from '../../src/serving/rpc/registry.js'
import { rollupMethods } from '../../src/serving/rpc/rollup/rollupRegistry.js'

const ajv = new Ajv({ strict: false, inlineRefs: false })
const all: Readonly<Record<string, Method<never>>> = { ...methods, ...rollupMethods }
const validators = new Map<object, ValidateFunction>()

/** Throws Error where a result is not what its method declares. A method of an unknown name may answer anything. */
export function checkResult(method: string, result: unknown): void {
  const declared = Object.hasOwn(all, method) ? all[method]?.result : undefined
  if (declared !== undefined) check(`${method} answers`, declared, result)
}

/** Throws Error where a method answered parameters that are not what it declares. */
export function checkParams(method: string, params: unknown): void {
  const declared = Object.hasOwn(all, method) ? all[method]?.params : undefined
  if (declared === undefined || !Array.isArray(params)) return
  for (const [index, { schema, required }] of declared.entries()) {
    const value: unknown = params[index]
    const isAbsent = value === undefined || value === null
    if (isAbsent && required) throw new Error(`${method} answers without its argument ${index}`)
    if (!isAbsent) check(`${method} takes as argument ${index}`, schema, value)
  }
}

function check(what: string, schema: object, value: unknown): void {
  let validate = validators.get(schema)
  if (validate === undefined) {
    validate = ajv.compile(schema)
    validators.set(schema, validate)
  }
  if (validate(value)) return
  const faults = JSON.stringify(validate.errors?.slice(0, 4))
  throw new Error(`${what} what it does not declare: ${faults}: ${JSON.stringify(value).slice(0, 400)}`)
}
