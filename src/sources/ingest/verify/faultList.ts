/** Number of faults after which checking stops: the store is damaged, and more lines would not help. */
const faultsMax = 20

export class TooManyFaults extends Error {}

/** Faults of a store, one sentence each. */
export class FaultList {
  readonly faults: string[] = []

  /** Runs a check; an error of its reads is a fault of the store, too. */
  guard(what: string, check: () => void): void {
    try {
      check()
    } catch (error) {
      if (error instanceof TooManyFaults || !(error instanceof Error)) throw error
      this.fault(`${what}: ${error.message}`)
    }
  }

  expect(holds: boolean, otherwise: string): void {
    if (!holds) this.fault(otherwise)
  }

  fault(sentence: string): void {
    this.faults.push(sentence)
    if (this.faults.length >= faultsMax) throw new TooManyFaults()
  }
}
