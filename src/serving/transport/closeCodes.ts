/** Close codes of RFC 6455, section 7.4.1, and 1013 of the IANA registry that it establishes. */
export const closeCodes = {
  goingAway: 1001,
  notUtf8: 1007,
  policy: 1008,
  tooBig: 1009,
  tryLater: 1013,
} as const
