import type { Section } from '../section.ts'
import { applications } from './applications.ts'
import { checks } from './checks.ts'
import { issuance } from './issuance.ts'
import { listing } from './listing.ts'
import { metrics } from './metrics.ts'
import { mix } from './mix.ts'
import { postgres } from './postgres/section.ts'
import { purge } from './purge.ts'
import { secrets } from './secrets.ts'
import { slowDisk } from './slow-disk.ts'
import { tokens } from './tokens.ts'
import { workers } from './workers.ts'

/** All sections in the order in which they run. */
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
