/** The forks of the OP Stack in order, each with the Ethereum fork whose rules it includes. */
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
