#!/usr/bin/env node
/** Answers forge's calls to a Solidity compiler, by the compiler of the tests; forge would download its own. */
const { readFileSync } = require('node:fs')
const { createRequire } = require('node:module')

const solc = createRequire(process.env.TESTS_PACKAGE)('solc')
const isAsked = process.argv.includes('--version')
console.log(isAsked ? `Version: ${solc.version()}` : solc.compile(readFileSync(0, 'utf8')))
