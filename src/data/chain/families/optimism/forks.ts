/** The forks of the OP Stack in order, each with the fork of Ethereum whose rules it has besides its own. */
export const optimismForks = {
  bedrock: 'paris',
  regolith: 'paris',
  canyon: 'shanghai',
  ecotone: 'cancun',
  fjord: 'cancun',
  granite: 'cancun',
  holocene: 'cancun',
  isthmus: 'prague',
  jovian: 'prague',
  karst: 'osaka',
} as const
