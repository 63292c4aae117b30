import type { Section } from '../section.ts'
import { applications } from './applications.ts'
import { checks } from './checks.ts'
import { issuance } from './issuance.ts'
import { listing } from './listing.ts'
import { metrics } from './metrics.ts'
import { mix } from './mix.ts'
import { peers } from './peers/section.ts'
import { postgres } from './postgres/section.ts'
import { purge } from './purge.ts'
import { release } from './release.ts'
import { secrets } from './secrets.ts'
import { slowDisk } from './slow-disk.ts'
import { tokens } from './tokens.ts'
import { workers } from './workers.ts'

/** The sections of a complete run, in the order in which they run. */
export const sections: Section[] = [
  issuance,
  secrets,
  checks,
  metrics,
  mix,
  applications,
  listing,
  tokens,
  purge,
  slowDisk,
  workers,
  postgres,
]

/** Sections that run only if --only names them. */
export const extraSections: Section[] = [peers, release]
