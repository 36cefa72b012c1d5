/** Exit statuses of the helper processes of the store. All others are errors that say nothing of what was asked. */

/** Of `connectToHolder.ts`. */
export const holderStatus = { listens: 0, nobodyListens: 3 } as const

/** Of `clearReaders.ts`. */
export const readersStatus = { pidIsFree: 0, pidIsTaken: 3 } as const

/** Of `walkStore.ts`. */
export const walkStatus = { whole: 0, damaged: 5 } as const
