import { readFileSync } from 'node:fs'
import { builtPath } from './packageRoot.js'

/** The part of the interface that is used here; TypeScript has it only in the types of browsers. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Memory: new (size: { initial: number; maximum: number }) => WasmMemory
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
  readonly RuntimeError: new () => Error
}

export interface WasmGlobal<T = number> {
  readonly value: T
}

/** An exported memory. Its buffer stays the same unless the memory grows. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer
}

/** Whether a module has trapped, as opposed to an exception of an import. */
export function isTrap(error: unknown): boolean {
  return error instanceof WebAssembly.RuntimeError
}

/** A memory of `pages` pages of 64 KiB, for a module that imports it. It never has more than `pagesMax`. */
export function newMemory(pages: number, pagesMax = pages): WasmMemory {
  return new WebAssembly.Memory({ initial: pages, maximum: pagesMax })
}

/** Path → compiled module. */
const modules = new Map<string, object>()

/**
 * The exports of a new instance of a module, with its own memory; the caller states their type. `path` is the path of
 * the built file for {@link builtPath}; `imports` has the module's imports, by module and name. The first call in a
 * thread compiles the module, which takes some milliseconds. Throws if the file is missing or invalid, or an import is
 * missing.
 */
export function instantiate<Exports>(path: string, imports: object = {}): Exports {
  return new WebAssembly.Instance(compile(path), imports).exports as Exports
}

/**
 * Compiles a module once per thread. Other threads that compile the same bytes meanwhile get the same code, with all
 * its later optimisations.
 */
export function compile(path: string): object {
  const module = modules.get(path) ?? new WebAssembly.Module(readFileSync(builtPath(path)))
  modules.set(path, module)
  return module
}
