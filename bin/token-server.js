#!/usr/bin/env -S MALLOC_MMAP_THRESHOLD_=9000 node --max-semi-space-size=8 --disable-sigusr1
// 8 MiB for young objects: more makes no request faster, and the process a hundred MiB larger. Without SIGUSR1 no local user can
// open the inspector. From 9 kB on, memory goes back to the system as soon as it is freed: each connection takes 10 kB. In a clone
// the sources run as they are; a package has a bundle of them.
import { existsSync } from 'node:fs'

const sources = new URL('../src/main.ts', import.meta.url)
await import(existsSync(sources) ? sources.href : '../lib/main.js')
