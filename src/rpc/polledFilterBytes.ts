/** Bytes counted for a polled filter, besides {@link polledFilterKeyBytes} for each address and topic. */
export const polledFilterBytes = 2_000
export const polledFilterKeyBytes = 200
