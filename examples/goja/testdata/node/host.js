// What this host has and Node has not.
const { readFile } = require('fs/promises')
const { setTimeout } = require('timers/promises')
globalThis.sleep = ms => setTimeout(ms)
globalThis.readFile = path => readFile(path, 'utf8')
