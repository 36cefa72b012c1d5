/** Faults after which checking stops: a store with this many is damaged, and more would only scroll. */
const faultsMax = 20

/** Thrown where there are too many. */
export class TooManyFaults extends Error {}

/** What is wrong with a store, in one sentence each. */
export class FaultList {
  readonly faults: string[] = []

  /** Runs a check; whatever it cannot read is a fault of the store too. */
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
