#!/usr/bin/env node
/** What forge asks of a Solidity compiler, by the one of the tests; its own would be fetched from elsewhere. */
const { readFileSync } = require('node:fs')
const { createRequire } = require('node:module')

const solc = createRequire(process.env.TESTS_PACKAGE)('solc')
const isAsked = process.argv.includes('--version')
console.log(isAsked ? `Version: ${solc.version()}` : solc.compile(readFileSync(0, 'utf8')))
