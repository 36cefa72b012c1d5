/** Exit statuses of the helper processes of the store. Any other status is an error without an answer. */

/** Whether the holder of a writer's lock is alive (`connectToHolder.ts`). */
export const holderStatus = { listens: 0, nobodyListens: 3 } as const

/** Whether a living process reads a store under this pid (`clearReaders.ts`). */
export const readersStatus = { pidIsFree: 0, pidIsTaken: 3 } as const

/** Whether all rows of a store can be read (`walkStore.ts`). */
export const walkStatus = { whole: 0, damaged: 5 } as const
