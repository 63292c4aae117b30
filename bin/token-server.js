#!/usr/bin/env -S node --max-semi-space-size=8 --disable-sigusr1
// 8 MiB for young objects: more makes no request faster, and the process a hundred MiB larger. Without SIGUSR1 no local user can
// open the inspector. In a clone the sources run as they are; a package has a bundle of them.
import { existsSync } from 'node:fs'

const sources = new URL('../src/main.ts', import.meta.url)
await import(existsSync(sources) ? sources.href : '../lib/main.js')
