/**
 * Checks answers and answered parameters against the declarations of methods. The declarations are read from a file
 * that `prepare.ts` makes: loading all methods takes as long as starting a server.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv, type ValidateFunction } from 'ajv'
import { packageRoot } from '../../src/primitives/packageRoot.js'

export const declaredFile = join(packageRoot(), 'dist/fixtures/declared.json')

/** Declarations of methods; a shared schema is stored once and referenced by its index. */
export interface Declared {
  readonly schemas: readonly object[]
  readonly methods: Readonly<
    Record<string, { readonly params?: readonly (readonly [number, boolean])[]; readonly result?: number }>
  >
}

const ajv = new Ajv({ strict: false, inlineRefs: false })
const validators = new Map<number, ValidateFunction>()
let read: Declared | undefined

function declaredBy(method: string) {
  read ??= JSON.parse(readFileSync(declaredFile, 'utf8')) as Declared
  return Object.hasOwn(read.methods, method) ? read.methods[method] : undefined
}

/**
 * Throws Error if a result does not match its method's declaration. A method with an unknown name may return anything.
 */
export function checkResult(method: string, result: unknown): void {
  const declared = declaredBy(method)?.result
  if (declared !== undefined) check(`${method} answers`, declared, result)
}

/** Throws Error if a method answered parameters that do not match its declaration. */
export function checkParams(method: string, params: unknown): void {
  const declared = declaredBy(method)?.params
  if (declared === undefined || !Array.isArray(params)) return
  for (const [index, [schema, required]] of declared.entries()) {
    const value: unknown = params[index]
    const isAbsent = value === undefined || value === null
    if (isAbsent && required) throw new Error(`${method} answers without its argument ${index}`)
    if (!isAbsent) check(`${method} takes as argument ${index}`, schema, value)
  }
}

function check(what: string, schema: number, value: unknown): void {
  let validate = validators.get(schema)
  if (validate === undefined) {
    validate = ajv.compile(read?.schemas[schema] as object)
    validators.set(schema, validate)
  }
  if (validate(value)) return
  const faults = JSON.stringify(validate.errors?.slice(0, 4))
  throw new Error(`${what} what it does not declare: ${faults}: ${JSON.stringify(value).slice(0, 400)}`)
}
