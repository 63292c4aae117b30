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
  /** All that there are. */
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
    lead: "One for each partner's program. It gets a client id and a secret, which is shown once.",
    content: html`${formErrors(errors)}<form class="panel form" method="post" action="/new-application">${hidden({ request_key: form.requestKey })}
${field({ label: 'Name', name: 'name', value: form.name, hint: 'Its tokens have it as application_name.', required: true, error: errorOf('name') })}
${field({ label: 'Developer email', name: 'developer_email', type: 'email', value: form.developerEmail, hint: 'Whom to ask. Its tokens have it as developer.email.', required: true, error: errorOf('developer_email') })}
${
  suites.length === 0
    ? html`<p class="hint">There is no suite yet that it could be approved for.</p>`
    : suiteChoices('Its tokens are valid at these suites', suites, (suiteId) => ticked.has(suiteId), errorOf('suite'))
}
<details${clientId !== '' && html` open`}><summary>It has a client id already</summary>
${field({ label: 'Client id', name: 'client_id', value: clientId, isCode: true, hint: 'From the server that it comes from. It gets a new secret all the same. Left empty: a new one.', error: errorOf('client_id') })}</details>
<div class="buttons"><button class="button primary">Register</button><a class="button" href="/applications">Cancel</a></div></form>`,
  }
}
