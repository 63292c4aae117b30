import type { Application } from '../domain/application.ts'
import type { PublicFieldsOf } from '../domain/audit-event.ts'
import type { HandOverLink } from '../domain/hand-over.ts'
import type { Operator } from '../domain/operator.ts'
import type { Suite } from '../domain/suite.ts'
import { timestamp } from '../domain/time.ts'
import { applicationFields } from './application.ts'
import { AUDITED_OPERATOR } from './operator.ts'
import { view } from './schema.ts'
import { secretFields } from './secret.ts'
import { suiteFields } from './suite.ts'

/** What a change can change. Usage is not part of it. */
export const PUBLIC_FIELDS = {
  application: (stored: Application) => ({ ...applicationFields(stored), secrets: stored.secrets.map(secretFields) }),
  suite: (stored: Suite) => ({ ...suiteFields(stored), secrets: stored.secrets.map(secretFields) }),
  operator: (stored: Operator) => view(AUDITED_OPERATOR, stored),
  'hand-over links': (stored: HandOverLink[]) => ({
    hand_over_links: stored.map(({ id, endsAt }) => ({ id, ends_at: timestamp(endsAt) })),
  }),
} satisfies PublicFieldsOf
