import { type FieldError, field, formErrors, hidden } from './components/forms.ts'
import { html } from './html.ts'
import type { Page } from './layout.ts'

/** The form, with what was typed. */
export interface NewSuiteForm {
  requestKey: string
  suiteId: string
  name: string
}

/** The form that registers a suite. */
export function newSuitePage({ requestKey, suiteId, name }: NewSuiteForm, errors: readonly FieldError[]): Page {
  const errorOf = (name: string) => errors.find(({ field }) => field === name)?.message
  return {
    title: 'Register a suite',
    section: '/suites',
    trail: [{ href: '/suites', label: 'Suites' }],
    lead: 'A suite is an API that checks tokens, by itself or through a gateway. It gets a secret, which is shown once.',
    content: html`${formErrors(errors)}<form class="panel form" method="post" action="/new-suite">${hidden({ request_key: requestKey })}
${field({ label: 'Id', name: 'suite_id', value: suiteId, isCode: true, required: true, autofocus: true, hint: 'Part of the address at which gateways check tokens. Letters, digits and - . _ ~ only. It cannot be changed later.', error: errorOf('suite_id') })}
${field({ label: 'Name', name: 'name', value: name, required: true, error: errorOf('name') })}
<div class="buttons"><button class="button primary">Register</button><a class="button" href="/suites">Cancel</a></div></form>`,
  }
}
