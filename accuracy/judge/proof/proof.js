// Runs main.js, a program and its tests, and then writes what it was given on standard input: that the tests came to their end.
'use strict'
const fs = require('fs')
const assert = require('assert')
const Module = require('module')

const given = fs.readFileSync(0)
const main = __dirname + '/main.js'
const { writeSync } = fs
const { exit } = process
const load = Module._load
const { require: required } = Module.prototype

// What tests compare with: a program can not put its own in place.
Object.freeze(assert)
Object.freeze(assert.strict)
if (fs.readFileSync(main, 'latin1').includes('lodash')) {
  try {
    Object.freeze(require('lodash'))
  } catch { // the tests say that it is missing
  }
}

process.argv[1] = main
load(main, null, true)
if (globalThis.DONE !== true || Module._load !== load || Module.prototype.require !== required) exit(1)
writeSync(1, given)
