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
${field({ label: 'Name', name: 'name', value: form.name, hint: 'Checks of its tokens answer it as application_name.', required: true, error: errorOf('name') })}
${field({ label: 'Developer email', name: 'developer_email', type: 'email', value: form.developerEmail, hint: 'Whom to contact. Checks answer it as developer.email.', required: true, error: errorOf('developer_email') })}
${
  suites.length === 0
    ? html`<p class="hint">There are no suites yet. It can be approved for one later.</p>`
    : suiteChoices('Its tokens are valid at these suites', suites, (suiteId) => ticked.has(suiteId), errorOf('suite'))
}
<details${clientId !== '' && html` open`}><summary>It already has a client id</summary>
${field({ label: 'Client id', name: 'client_id', value: clientId, isCode: true, hint: 'The one it has on another server. It gets a new secret in any case. Leave empty for a new client id.', error: errorOf('client_id') })}</details>
<div class="buttons"><button class="button primary">Register</button><a class="button" href="/applications">Cancel</a></div></form>`,
  }
}
