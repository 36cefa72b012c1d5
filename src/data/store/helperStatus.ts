/** Exit statuses of the helper processes of the store. All others are errors that say nothing of what was asked. */

/** Whether the holder of a writer's lock lives (`connectToHolder.ts`). */
export const holderStatus = { listens: 0, nobodyListens: 3 } as const

/** Whether a process that lives reads a store under this pid (`clearReaders.ts`). */
export const readersStatus = { pidIsFree: 0, pidIsTaken: 3 } as const

/** Whether all rows of a store can be read (`walkStore.ts`). */
export const walkStatus = { whole: 0, damaged: 5 } as const
