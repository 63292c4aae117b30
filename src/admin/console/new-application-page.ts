import type { Suite } from '../../domain/suite.ts'
import { suiteChoices } from './components/approvals-panel.ts'
import { type FieldError, field, formErrors, hidden } from './components/forms.ts'
import { html } from './html.ts'
import type { Page } from './layout.ts'

/** The form, with what was typed. */
export interface NewApplicationForm {
  requestKey: string
  name: string
  developerEmail: string
  clientId: string
  /** The ids of the suites that are ticked. */
  suites: readonly string[]
}

interface NewApplication {
  form: NewApplicationForm
  /** All suites that can be ticked. */
  suites: readonly Suite[]
  errors: readonly FieldError[]
}

/** The form that registers an application. */
export function newApplicationPage({ form, suites, errors }: NewApplication): Page {
  const errorOf = (name: string) => errors.find(({ field }) => field === name)?.message
  const { clientId } = form
  const ticked = new Set(form.suites)
  return {
    title: 'Register an application',
    section: '/applications',
    trail: [{ href: '/applications', label: 'Applications' }],
    lead: 'Register each program of a partner as an application. It gets a client id and a secret, which is shown once.',
    content: html`${formErrors(errors)}<form class="panel form" method="post" action="/new-application">${hidden({ request_key: form.requestKey })}
${field({ label: 'Name', name: 'name', value: form.name, hint: 'APIs see it as application_name when they check its tokens.', required: true, autofocus: true, error: errorOf('name') })}
${field({ label: 'Developer email', name: 'developer_email', type: 'email', value: form.developerEmail, hint: 'Whom to contact. APIs see it as developer.email.', required: true, error: errorOf('developer_email') })}
${
  suites.length === 0
    ? html`<p class="hint">There are no suites yet. You can approve it for suites later.</p>`
    : suiteChoices(suites, (suiteId) => ticked.has(suiteId), errorOf('suite'))
}
<details${clientId !== '' && html` open`}><summary>Use an existing client id</summary>
${field({ label: 'Client id', name: 'client_id', value: clientId, isCode: true, hint: 'The one that it has on another server. The secret is new in any case.', error: errorOf('client_id') })}</details>
<div class="buttons"><button class="button primary">Register</button><a class="button" href="/applications">Cancel</a></div></form>`,
  }
}
