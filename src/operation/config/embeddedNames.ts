/** Names of the networks that are served where nothing else is configured. */

/** The demo chain. */
export const demoNetworkName = 'demo'
/** The rollup network that stands beside it, without a sequencer. */
export const demoRollupName = 'rollup'
