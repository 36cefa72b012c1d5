/**
 * The engine for callers' tracers: QuickJS as WebAssembly, without access to anything outside. Owns its memory limits,
 * its cleanup after each trace, and the only reader of values that leave it. The reader checks types and lengths
 * itself: code inside may have replaced every built-in function.
 */
import { fileURLToPath } from 'node:url'
import variant from '@jitl/quickjs-wasmfile-release-sync'
import {
  type EmscriptenModuleLoader,
  type EmscriptenModuleLoaderOptions,
  newQuickJSWASMModuleFromVariant,
  type QuickJSContext,
  type QuickJSEmscriptenModule,
  type QuickJSHandle,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core'
import { JsonLimitError, type JsonLimits, parseBoundedJson } from '../../../primitives/boundedJson.js'
import { hexToBytes } from '../../../primitives/bytes.js'
import { type FaultError, messageRefused } from '../../../primitives/faults.js'
import { compile, newMemory } from '../../../primitives/webAssembly.js'

const pageBytes = 2 ** 16
/** Initial memory of the engine: its stack and tables. */
const ownPages = 2 ** 24 / pageBytes
/**
 * Limit of the engine's memory, which WebAssembly enforces. Beyond its own 16 MiB it suffices for a trace of some
 * 100,000 small objects. The engine's own memory limit counts 8 bytes for a block of any length, so it is not used.
 */
export const sandboxBytesMax = 80 * 2 ** 20
/** Enough for some thousand nested calls; more would crash the thread. */
const stackBytesMax = 256 * 1024
/** Characters of an error thrown inside that are repeated outside. */
const thrownCharactersMax = 1_000

/**
 * Limits of a result. Characters: a quarter of the memory that it and its text share. Depth: more than results of any
 * tracer, less than a stack allows. Values: ten members for each of 100,000 instructions.
 */
const resultLimits: JsonLimits = { charactersMax: 16 * 2 ** 20, depthMax: 1_000, valuesMax: 1_000_000 }

const limited: Readonly<Record<keyof JsonLimits, string>> = {
  charactersMax: 'characters',
  depthMax: 'levels',
  valuesMax: 'values',
}

/**
 * Describes a thrown value as text. It is created before any other code runs, so its own functions are not replaced.
 * Members of the thrown value can still run any code.
 */
const describing = `(function () {
  'use strict'
  var cut = Function.prototype.call.bind(String.prototype.slice)
  return function (thrown) {
    try {
      var isError = typeof thrown === 'object' && thrown !== null && 'message' in thrown
      var name = isError && thrown.name !== 'Error' ? thrown.name + ': ' : ''
      return cut(name + (isError ? thrown.message : thrown), 0, ${thrownCharactersMax})
    } catch (_) {
      return 'an error that is no text'
    }
  }
})()`

let loaded: QuickJSWASMModule | undefined
/** Whether the engine was loaded and has broken since. */
let isBroken = false
const open = new Set<Sandbox>()

/** Loads the engine, once per thread; call it before a {@link Sandbox} is made. Takes some 10 ms. */
export async function loadJavaScript(): Promise<void> {
  // The types of the package are for the other module format.
  loaded ??= await newQuickJSWASMModuleFromVariant(bounded(variant as unknown as QuickJSSyncVariant))
  isBroken = false
}

/** Compiles the engine for threads that this one starts, each of which would need 50 ms of CPU; see {@link compile}. */
export function compileJavaScript(): void {
  compile(fileURLToPath(import.meta.resolve('@jitl/quickjs-wasmfile-release-sync/wasm')))
}

function giveUpEngine(): void {
  loaded = undefined
  isBroken = true
}

/** The engine with a limited memory. It prints nothing, because its output would be the process's. */
function bounded(base: QuickJSSyncVariant): QuickJSSyncVariant {
  return {
    ...base,
    async importModuleLoader() {
      // In this package the loader has this form.
      const load = (await base.importModuleLoader()) as EmscriptenModuleLoader<QuickJSEmscriptenModule>
      return async () => {
        const wasmMemory = newMemory(ownPages, sandboxBytesMax / pageBytes)
        const silent = { print() {}, printErr() {} }
        const module = await load({ ...silent, wasmMemory } as EmscriptenModuleLoaderOptions)
        const allocate = module._malloc
        module._malloc = (bytes) => {
          const at = allocate(bytes)
          // Without this check, arguments would be written to address 0.
          if (at === 0) throw new OutOfSandboxMemory()
          return at
        }
        return module
      }
    },
  }
}

class OutOfSandboxMemory extends Error {}

/** A handle of a value in the sandbox, freed with the sandbox. */
export type Inside = QuickJSHandle

/** The error of code in the sandbox, as text of at most 1,000 characters. */
export class ThrownInside extends Error {}

/** The engine's own message for memory requested by code inside. */
function outOfMemory(): ThrownInside {
  return new ThrownInside('InternalError: out of memory')
}

/** The error of an engine that cannot run again. The thread's next load makes a new one. */
function failed(): ThrownInside {
  return new ThrownInside('InternalError: the sandbox has failed')
}

/** The fault for a value from inside without the type and length that our own code inside guarantees. */
function notAsked(what: string): FaultError {
  return messageRefused(`the tracer passed on a value that is not ${what}`)
}

/** The arguments of a call from inside to a host function. Each reader throws FaultError MessageRefused. */
export class InsideArguments {
  readonly #context: QuickJSContext
  readonly #values: readonly Inside[]

  constructor(context: QuickJSContext, values: readonly Inside[]) {
    this.#context = context
    this.#values = values
  }

  text(index: number, charactersMax: number): string {
    return readText(this.#context, this.#values[index], charactersMax)
  }

  /** Bytes from their hex digits: exactly `count`. */
  bytes(index: number, count: number): Uint8Array {
    const bytes = this.bytesUpTo(index, count)
    if (bytes.length !== count) throw notAsked(`${count} bytes`)
    return bytes
  }

  bytesUpTo(index: number, max: number): Uint8Array {
    const digits = this.text(index, max * 2)
    if (digits.length % 2 === 1 || !/^[0-9a-fA-F]*$/.test(digits)) throw notAsked('hex')
    return hexToBytes(digits)
  }

  /** A whole number from 0 to `max`. */
  whole(index: number, max: number): number {
    const value = this.#values[index]
    const isNumber = value !== undefined && this.#context.typeof(value) === 'number'
    const number = isNumber ? this.#context.getNumber(value) : Number.NaN
    if (!Number.isSafeInteger(number) || number < 0 || number > max) {
      throw notAsked(`a whole number up to ${max}`)
    }
    return number
  }
}

function readText(context: QuickJSContext, value: Inside | undefined, charactersMax: number): string {
  if (value === undefined || context.typeof(value) !== 'string') throw notAsked('a text')
  // The length of a primitive string, which code inside cannot replace.
  const length = context.getProp(value, 'length').consume((handle) => context.getNumber(handle))
  if (length > charactersMax) throw notAsked(`a text of at most ${charactersMax} characters`)
  return context.getString(value)
}

/**
 * A separate JavaScript realm. `look` is called often while code runs inside. An error that it or a host function
 * throws ends the run: code inside cannot catch it, and it leaves unchanged. The constructor throws
 * {@link ThrownInside} if an earlier sandbox of the same trace has broken the engine.
 */
export class Sandbox {
  readonly #context: QuickJSContext
  readonly #kept: Inside[] = []
  readonly #describe: Inside
  /** The host's error that ended the run. */
  #ended: { readonly by: unknown } | undefined

  constructor(look: () => void) {
    if (isBroken) throw failed()
    if (loaded === undefined) throw new Error('the engine of JavaScript tracers is not loaded')
    const runtime = loaded.newRuntime()
    runtime.setMaxStackSize(stackBytesMax)
    runtime.setInterruptHandler(() => {
      if (this.#ended === undefined) this.#ending(look)
      return this.#ended !== undefined
    })
    this.#context = runtime.newContext()
    open.add(this)
    this.#describe = this.evaluate(describing, 'describe.js')
  }

  /** A host function for code inside. */
  give(name: string, answer: (args: InsideArguments) => string): Inside {
    const context = this.#context
    return this.#keep(
      context.newFunction(name, (...values) => {
        // A host error as an object inside would take memory there and disclose host details.
        const answered = () => context.newString(answer(new InsideArguments(context, values)))
        return this.#ending(answered) ?? context.undefined
      }),
    )
  }

  text(value: string): Inside {
    return this.#keep(this.#run(() => ({ value: this.#context.newString(value) })))
  }

  /** The value of a program. Throws {@link ThrownInside}, and the error that ended the run. */
  evaluate(code: string, file: string): Inside {
    return this.#keep(this.#run(() => this.#context.evalCode(code, file)))
  }

  /** The result of a function inside, kept until the sandbox is closed. Throws as {@link evaluate}. */
  call(called: Inside, ...args: Inside[]): Inside {
    return this.#keep(this.#run(() => this.#context.callFunction(called, this.#context.undefined, ...args)))
  }

  /** Calls a function inside with a text, and reads its result before it is freed. Throws as {@link evaluate}. */
  callWithText<T>(called: Inside, text: string, read: (result: Inside) => T): T {
    const context = this.#context
    const argument = this.#run(() => ({ value: context.newString(text) }))
    try {
      return this.#run(() => context.callFunction(called, context.undefined, argument)).consume(read)
    } finally {
      argument.dispose()
    }
  }

  member(object: Inside, name: string): Inside {
    return this.#keep(this.#run(() => ({ value: this.#context.getProp(object, name) })))
  }

  isTrue(value: Inside): boolean {
    return this.#context.eq(value, this.#context.true)
  }

  /** Reads a JSON result and writes it again. Throws FaultError MessageRefused. */
  json(value: Inside): string {
    try {
      return JSON.stringify(
        parseBoundedJson(readText(this.#context, value, resultLimits.charactersMax), resultLimits),
      )
    } catch (error) {
      if (error instanceof SyntaxError) throw notAsked('JSON')
      if (!(error instanceof JsonLimitError)) throw error
      throw messageRefused(`the result of the tracer has more than ${error.max} ${limited[error.limit]}`)
    }
  }

  /** Frees all values. */
  close(): void {
    open.delete(this)
    const { runtime } = this.#context
    try {
      for (const handle of this.#kept.reverse()) if (handle.alive) handle.dispose()
      this.#context.dispose()
      runtime.dispose()
    } catch {
      // The engine counts its values, and breaks if one is left, as after an interrupted run: load it again.
      giveUpEngine()
    }
  }

  #keep(value: Inside): Inside {
    this.#kept.push(value)
    return value
  }

  /** The result of `work`; undefined if it threw, which ends the run. */
  #ending<T>(work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      this.#ended ??= { by: error instanceof OutOfSandboxMemory ? outOfMemory() : error }
      return undefined
    }
  }

  #run(work: () => { readonly value: Inside } | { readonly error: Inside }): Inside {
    let result: ReturnType<typeof work>
    try {
      result = work()
    } catch (error) {
      if (this.#ended !== undefined) throw this.#ended.by
      // The engine has no memory for the arguments, or has broken. Other errors pass unchanged.
      if (error instanceof OutOfSandboxMemory) throw outOfMemory()
      giveUpEngine()
      throw failed()
    }
    if (this.#ended !== undefined) throw this.#ended.by
    if (!('error' in result) || result.error === undefined) return (result as { value: Inside }).value
    throw new ThrownInside(this.#textOf(result.error))
  }

  #textOf(thrown: Inside): string {
    const context = this.#context
    try {
      const result = context.callFunction(this.#describe, context.undefined, thrown)
      if (result.error === undefined) {
        return result.value.consume((text) => readText(context, text, thrownCharactersMax))
      }
      result.error.dispose()
    } catch {
      // Memory is freed, as below.
    } finally {
      thrown.dispose()
    }
    if (this.#ended !== undefined) throw this.#ended.by
    return 'an error that is no text'
  }
}

/** Frees sandboxes left open by an interrupted trace. */
export function closeSandboxes(): void {
  for (const sandbox of open) sandbox.close()
}
