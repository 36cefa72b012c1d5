/**
 * The engine of callers' tracers: QuickJS as WebAssembly, which reaches nothing but what it is given. Owns its limits of
 * memory and that nothing of it outlives a trace.
 */
import variant from '@jitl/quickjs-wasmfile-release-sync'
import {
  newQuickJSWASMModuleFromVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core'

/** A trace of some 100,000 small objects; a thread has 512 MB in all. */
const memoryBytesMax = 64 * 2 ** 20
/** Enough for some thousand nested calls; more would end the thread. */
const stackBytesMax = 256 * 1024

let loaded: QuickJSWASMModule | undefined
/** Contexts, each with the handles on its values, which have to be freed before it. */
const open = new Map<QuickJSContext, QuickJSHandle[]>()

/** Loads it, once per thread; call it before {@link openContext}. Takes some 10 ms. */
export async function loadJavaScript(): Promise<void> {
  loaded ??= await newQuickJSWASMModuleFromVariant(
    // Its types are of the other module format.
    variant as unknown as QuickJSSyncVariant,
  )
}

/** A new world of objects. `isOver` is asked often, and ends a run with an error. */
export function openContext(isOver: () => boolean): QuickJSContext {
  if (loaded === undefined) throw new Error('the engine of JavaScript tracers is not loaded')
  const runtime = loaded.newRuntime()
  runtime.setMemoryLimit(memoryBytesMax)
  runtime.setMaxStackSize(stackBytesMax)
  runtime.setInterruptHandler(isOver)
  const context = runtime.newContext()
  open.set(context, [])
  return context
}

/** Has a handle freed with its context. */
export function keep<H extends QuickJSHandle>(context: QuickJSContext, handle: H): H {
  open.get(context)?.push(handle)
  return handle
}

/** Frees everything that was opened. */
export function closeContexts(): void {
  for (const [context, handles] of open) {
    const { runtime } = context
    try {
      for (const handle of handles.reverse()) if (handle.alive) handle.dispose()
      context.dispose()
      runtime.dispose()
    } catch {
      // It counts its values, and stops for good over one that is left, as after a run that was ended: load it anew.
      loaded = undefined
    }
  }
  open.clear()
}
