/** The operands of DUPN, SWAPN and EXCHANGE (EIP-8024). */

/** The stack position that the operand of DUPN and SWAPN encodes, from 17 to 235; 0 for an invalid one. */
@inline
export function distance(operand: u32): u32 {
  return operand > 90 && operand < 128 ? 0 : (operand + 145) & 0xff
}

/**
 * The two stack positions that the operand of EXCHANGE encodes, the lower one in the low byte; 0 for an invalid one.
 */
@inline
export function distances(operand: u32): u32 {
  if (operand > 81 && operand < 128) return 0
  const q = (operand ^ 143) >> 4
  const r = (operand ^ 143) & 15
  return q < r ? (q + 1) | ((r + 1) << 8) : (r + 1) | ((29 - q) << 8)
}
