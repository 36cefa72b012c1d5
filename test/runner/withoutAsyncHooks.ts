/**
 * Loaded into each test's process before anything else: disables async hooks. The test library follows every promise
 * with them, to name the subtest of an uncaught error. That takes a fifth of the time of a test that executes blocks.
 * Without them an uncaught error ends and fails its whole file.
 */
import asyncHooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

const hook = { enable: () => hook, disable: () => hook }
asyncHooks.createHook = () => hook
syncBuiltinESMExports()
