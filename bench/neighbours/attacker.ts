/**
 * One attacker, in a process of its own. neighbours.ts starts it with the name of an attack, the server's URL with the
 * attacker's key, and a victim's key id. It sends `{}` once it is ready, and begins at a duration in ms. Then it sends
 * the counts of its answers and errors ({@link Reported}), and ends, with all its connections.
 */
import { once } from 'node:events'
import { setPriority } from 'node:os'
import { endProcess } from '../../src/primitives/endProcess.js'
import { attacks } from './attacks.js'
import { AttackTools } from './attackTools.js'

/** Lower priority than the victims' loader, which shares the core. */
const niceness = 10

const [name = '', url = '', neighbour = ''] = process.argv.slice(2)
const attack = attacks.find((each) => each.name === name)
if (attack === undefined) throw new RangeError(`there is no attack ${name}`)
setPriority(niceness)
// Ends with its parent, so that no attacker remains.
process.on('disconnect', () => endProcess(1))

const tools = new AttackTools(url, neighbour)
const order = once(process, 'message')
process.send?.({})
const [ms] = (await order) as [number]
setTimeout(() => {
  tools.isOver = true
  process.send?.(tools.tally.counts(), () => endProcess(0))
}, ms)
attack.drive(tools)
