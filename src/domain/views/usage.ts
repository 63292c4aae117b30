import { PERIOD_NAMES } from '../usage.ts'
import { choice, list, object, type SourceOf, time, whole } from './schema.ts'

const COUNTS = {
  tokens: whole('Tokens that it got; of a suite always 0'),
  checks: whole('Checks that found its tokens valid; of a suite its valid checks and introspections'),
  refusals: whole('Requests that were refused, and checks that found a token not valid'),
}

export const USAGE = object('Usage', 'What an application or a suite did, on all nodes, up to a minute late', {
  period: choice(PERIOD_NAMES, 'The period, up to now'),
  step_seconds: whole('The length of each point'),
  ...COUNTS,
  points: list(
    'The parts of the period, oldest first; the last one is not over yet',
    object('UsagePoint', 'What it did in a part of the period', { since: time('When it began'), ...COUNTS }),
  ),
})

export type Usage = SourceOf<typeof USAGE>
