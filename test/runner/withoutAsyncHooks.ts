/**
 * Loaded into each test's process before anything else: takes away async hooks. The test library follows every promise
 * with them, to name the subtest that an uncaught error belongs to, which takes a fifth of the time of a test that
 * executes blocks. Without them an uncaught error ends its whole file, which has failed then.
 */
import asyncHooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

const hook = { enable: () => hook, disable: () => hook }
asyncHooks.createHook = () => hook
syncBuiltinESMExports()
