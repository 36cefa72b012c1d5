import { readFileSync } from 'node:fs'

/** As much of the interface as is used here; TypeScript has it among the types of browsers alone. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
}

/** An exported global. */
export interface WasmGlobal<T = number> {
  readonly value: T
}

/** An exported memory. Where it never grows, its buffer stays. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer
}

/** By their URLs. */
const modules = new Map<string, object>()

/**
 * An instance of a module, with memory of its own: what it exports, which the caller describes. `imports` is what the
 * module asks for, by module and name. Compiles it the first time in a thread, in some milliseconds. Throws where the
 * file is missing or no module, or an import is.
 */
export function instantiate<Exports>(file: URL, imports: object = {}): Exports {
  const module = modules.get(file.href) ?? new WebAssembly.Module(readFileSync(file))
  modules.set(file.href, module)
  return new WebAssembly.Instance(module, imports).exports as Exports
}
