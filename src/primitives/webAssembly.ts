import { readFileSync } from 'node:fs'

/** As much of the interface as is used here; TypeScript has it among the types of browsers alone. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object) => { readonly exports: unknown }
}

/** An exported global. */
export interface WasmGlobal {
  readonly value: number
}

/** An exported memory that never grows, so that its buffer stays. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer
}

/**
 * An instance of a module that imports nothing, for this thread alone: what it exports, which the caller describes.
 * Compiles it, in some milliseconds. Throws where the file is missing or no module.
 */
export function instantiate<Exports>(file: URL): Exports {
  return new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file))).exports as Exports
}
