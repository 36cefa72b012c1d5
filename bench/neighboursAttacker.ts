/**
 * One attacker, in a process of its own. Started by neighbours.ts with the name of an attack and the server's URL
 * with the attacker's key. Says `{}` once it is ready, begins when it is told for how many ms, then says what it was
 * told ({@link Told}), and ends: so do its connections, whatever is under way on them.
 */
import { once } from 'node:events'
import { setPriority } from 'node:os'
import { attacks } from './neighboursAttacks.js'
import { AttackTools } from './neighboursAttackTools.js'

/** Behind the victims' loader wherever both want their core. */
const niceness = 10

const [name = '', url = ''] = process.argv.slice(2)
const attack = attacks.find((each) => each.name === name)
if (attack === undefined) throw new RangeError(`there is no attack ${name}`)
setPriority(niceness)
// A run that is ended, by whatever, leaves no attacker behind.
process.on('disconnect', () => process.exit(1))

const tools = new AttackTools(url)
const order = once(process, 'message')
process.send?.({})
const [ms] = (await order) as [number]
setTimeout(() => {
  tools.isOver = true
  process.send?.(tools.tally.counts(), () => process.exit(0))
}, ms)
attack.drive(tools)
