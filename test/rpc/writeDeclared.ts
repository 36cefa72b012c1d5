import { writeFileSync } from 'node:fs'
import type { Method } from '../../src/serving/rpc/method.js'
import { methods } from '../../src/serving/rpc/registry.js'
import { rollupMethods } from '../../src/serving/rpc/rollup/rollupRegistry.js'
import { type Declared, declaredFile } from './openRpc.js'

/** Writes the declarations of all methods, for checks that do not load them. */
export function writeDeclared(): void {
  const all: Readonly<Record<string, Method<never>>> = { ...methods, ...rollupMethods }
  const places = new Map<object, number>()
  const placeOf = (schema: object) => {
    const place = places.get(schema) ?? places.size
    places.set(schema, place)
    return place
  }
  const entries = Object.entries(all).map(([name, { params, result }]) => [
    name,
    {
      params: params?.map(({ schema, required }) => [placeOf(schema), required]),
      ...(result !== undefined && { result: placeOf(result) }),
    },
  ])
  const declared = { methods: Object.fromEntries(entries), schemas: [...places.keys()] } as Declared
  writeFileSync(declaredFile, JSON.stringify(declared))
}
