/** What a filter that is polled is counted as, beside {@link polledFilterKeyBytes} for each address and topic. */
export const polledFilterBytes = 2_000
export const polledFilterKeyBytes = 200
