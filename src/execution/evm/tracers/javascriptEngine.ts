/**
 * The engine of callers' tracers: QuickJS as WebAssembly, which has access to nothing but what it is given. Owns its
 * limits of memory, that nothing of it outlives a trace, and the one reader of what comes out of it: nothing that code
 * inside says is believed to have a type or a length, because it may have replaced every function there is.
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
/** With which the engine begins: its stack and tables. */
const ownPages = 2 ** 24 / pageBytes
/**
 * All memory of the engine; WebAssembly refuses more. Beside its own 16 MiB a trace of some 100,000 small objects. The
 * engine's own limit of memory counts 8 bytes for a block of any length, so it is not used.
 */
export const sandboxBytesMax = 80 * 2 ** 20
/** Enough for some thousand nested calls; more would end the thread. */
const stackBytesMax = 256 * 1024
/** Characters of what code inside throws that an error repeats. */
const thrownCharactersMax = 1_000

/**
 * A result: a quarter of the memory in which it and its text stand; deeper than results of any tracer, and less deep
 * than a stack can be; ten members for each of 100,000 instructions.
 */
const resultLimits: JsonLimits = { charactersMax: 16 * 2 ** 20, depthMax: 1_000, valuesMax: 1_000_000 }

const limited: Readonly<Record<keyof JsonLimits, string>> = {
  charactersMax: 'characters',
  depthMax: 'levels',
  valuesMax: 'values',
}

/**
 * Says as text what was thrown. It is made before any other code runs, so that it has functions that are not replaced;
 * members of what was thrown may do anything all the same.
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
  // Its types are of the other module format.
  loaded ??= await newQuickJSWASMModuleFromVariant(bounded(variant as unknown as QuickJSSyncVariant))
  isBroken = false
}

/** Compiles the engine for threads that this one starts, which takes 50 ms of CPU of each otherwise; see {@link compile}. */
export function compileJavaScript(): void {
  compile(fileURLToPath(import.meta.resolve('@jitl/quickjs-wasmfile-release-sync/wasm')))
}

function giveUpEngine(): void {
  loaded = undefined
  isBroken = true
}

/** The engine with a memory that has a maximum. It prints nothing: its output would be the process's. */
function bounded(base: QuickJSSyncVariant): QuickJSSyncVariant {
  return {
    ...base,
    async importModuleLoader() {
      // This package has it in this form, of several that others have.
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

/** A value inside, which is freed with its sandbox. */
export type Inside = QuickJSHandle

/** The error of code in the sandbox, as text of at most 1,000 characters. */
export class ThrownInside extends Error {}

/** As the engine says it of memory that code inside asks for. */
function outOfMemory(): ThrownInside {
  return new ThrownInside('InternalError: out of memory')
}

/** The error of an engine that cannot run again. The next load of the thread makes a new one. */
function failed(): ThrownInside {
  return new ThrownInside('InternalError: the sandbox has failed')
}

/** The fault of a value that came out and is not of the type and length that our own code inside makes. */
function notAsked(what: string): FaultError {
  return messageRefused(`the tracer passed on a value that is not ${what}`)
}

/** The arguments with which code inside calls a function of ours. Each reader throws FaultError MessageRefused. */
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

  /** Bytes from their digits: exactly `count`. */
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
  // A text's own length, which no code inside can replace.
  const length = context.getProp(value, 'length').consume((handle) => context.getNumber(handle))
  if (length > charactersMax) throw notAsked(`a text of at most ${charactersMax} characters`)
  return context.getString(value)
}

/**
 * A world of objects of its own. `look` is called often while code runs inside; what it throws ends the run, as does
 * what a function of ours throws: no code inside can catch it, and it comes out as it was thrown. Making one throws
 * {@link ThrownInside} where an earlier one of the same trace has broken the engine.
 */
export class Sandbox {
  readonly #context: QuickJSContext
  readonly #kept: Inside[] = []
  readonly #describe: Inside
  /** What ended the run from our side. */
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

  /** A function of ours for code inside. */
  give(name: string, answer: (args: InsideArguments) => string): Inside {
    const context = this.#context
    return this.#keep(
      context.newFunction(name, (...values) => {
        // An error made of ours would take memory inside, and tell of us.
        const answered = () => context.newString(answer(new InsideArguments(context, values)))
        return this.#ending(answered) ?? context.undefined
      }),
    )
  }

  text(value: string): Inside {
    return this.#keep(this.#run(() => ({ value: this.#context.newString(value) })))
  }

  /** The value of a program. Throws {@link ThrownInside}, and what ended the run. */
  evaluate(code: string, file: string): Inside {
    return this.#keep(this.#run(() => this.#context.evalCode(code, file)))
  }

  /** The result of a function inside, kept. Throws as {@link evaluate}. */
  call(called: Inside, ...args: Inside[]): Inside {
    return this.#keep(this.#run(() => this.#context.callFunction(called, this.#context.undefined, ...args)))
  }

  /** Calls a function inside with a text, and reads its result before it is freed. Throws as {@link evaluate}. */
  tell<T>(called: Inside, text: string, read: (result: Inside) => T): T {
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

  /** A result that is to be JSON, written anew. Throws FaultError MessageRefused. */
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

  /** Frees all of it. */
  close(): void {
    open.delete(this)
    const { runtime } = this.#context
    try {
      for (const handle of this.#kept.reverse()) if (handle.alive) handle.dispose()
      this.#context.dispose()
      runtime.dispose()
    } catch {
      // It counts its values, and stops for good over one that is left, as after a run that was ended: load it anew.
      giveUpEngine()
    }
  }

  #keep(value: Inside): Inside {
    this.#kept.push(value)
    return value
  }

  /** The result of `work`; undefined where it threw, which ends the run. */
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
      // The engine has no memory for what it is given, or has broken; what is of others stays what it is.
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
      // As below.
    } finally {
      thrown.dispose()
    }
    if (this.#ended !== undefined) throw this.#ended.by
    return 'an error that is no text'
  }
}

/** Frees what a trace left open that was ended. */
export function closeSandboxes(): void {
  for (const sandbox of open) sandbox.close()
}
