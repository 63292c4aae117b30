import type { Suite } from '../domain/suite.ts'
import { SHOWN_ANNOTATIONS } from './labels.ts'
import { object, text, time, view } from './schema.ts'

export const SUITE = object('ListedSuite', 'A suite in a list', {
  id: text('Its id, and the audience of tokens there'),
  name: text('Its name'),
  created_at: time('When it was registered'),
  ...SHOWN_ANNOTATIONS,
})

/** The source of the view of a suite, also of a view with more fields. */
export const suiteSource = <Shown extends Suite>({ suiteId: id, ...suite }: Shown) => ({ id, ...suite })

export const suiteFields = (suite: Suite) => view(SUITE, suiteSource(suite))
