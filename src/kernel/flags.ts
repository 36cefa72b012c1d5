/** What the build decides: a binary for each choice, from this one source (build/webAssembly.ts). */

/** Whether each step and each frame is told to the host. The binary without has no trace code. */
// @ts-ignore: the compiler is given it
export const isTracing: bool = TRACING != 0
