/** The base of the errors that the network helpers throw. */
exports.CustomError = class CustomError extends Error {
  constructor(message, parent) {
    super(message)
    this.name = this.constructor.name
    this.parent = parent
  }
}
