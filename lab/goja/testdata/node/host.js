// The functions that this host has in addition to those of Node.
const { readFile } = require('fs/promises')
const { setTimeout } = require('timers/promises')
globalThis.sleep = ms => setTimeout(ms)
globalThis.readFile = path => readFile(path, 'utf8')
