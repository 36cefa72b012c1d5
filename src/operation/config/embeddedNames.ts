/** Names of the networks that are served without a configuration. */

/** The demo chain. */
export const demoNetworkName = 'demo'
/** The rollup network beside it, without a sequencer. */
export const demoRollupName = 'rollup'
