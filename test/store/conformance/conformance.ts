import type { Test } from 'tap'
import { auditConformance } from './audit.ts'
import { failureConformance } from './failure.ts'
import { figuresConformance } from './figures.ts'
import { handOverConformance } from './hand-overs.ts'
import type { Harness } from './harness.ts'
import { issuerConformance } from './issuers.ts'
import { noticeConformance } from './notices.ts'
import { operatorConformance } from './operators.ts'
import { purgeConformance } from './purges.ts'
import { refusalConformance } from './refusals.ts'
import { applicationConformance, secretConformance, suiteConformance } from './registry.ts'
import { sharingConformance } from './sharing.ts'
import { tokenConformance } from './tokens.ts'

/** Tests every promise of domain/store.ts. */
export function storeConformance(t: Test, harness: Harness): void {
  applicationConformance(t, harness)
  secretConformance(t, harness)
  suiteConformance(t, harness)
  handOverConformance(t, harness)
  auditConformance(t, harness)
  tokenConformance(t, harness)
  refusalConformance(t, harness)
  operatorConformance(t, harness)
  purgeConformance(t, harness)
  figuresConformance(t, harness)
  noticeConformance(t, harness)
  issuerConformance(t, harness)
  sharingConformance(t, harness)
  failureConformance(t, harness)
}
