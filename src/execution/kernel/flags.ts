/** Choices of the build: one source is compiled to one binary per choice (build/webAssembly.ts). */

/** Whether the host is called for each step and each frame. The other binary contains no trace code. */
// @ts-ignore: the compiler is given it
export const isTracing: bool = TRACING != 0
