import type { FastifyRequest } from 'fastify'
import { type FederatedInput, keysIn } from '../../administration/rules.ts'
import { labelsIn } from '../../domain/application.ts'
import { type Html, html } from '../../web/html.ts'
import { help, table } from './components.ts'
import {
  type FieldState,
  field,
  fieldsOf,
  hidden,
  idempotencyOf,
  newRequestKey,
  redirectDone,
  textarea,
} from './forms.ts'
import type { OwnerForms } from './owner.ts'

// Federated credentials: JWTs of a workload's platform in the place of a secret.

export function addFederated(onForm: OwnerForms): void {
  onForm(
    'federated',
    async ({ params: { id }, base, request, reply, federated }) => {
      await federated.add(id, ruleIn(request.body), { idempotency: idempotencyOf(request) })
      return redirectDone(reply, base, 'federated-added')
    },
    { refused: 'issuer' },
  )
}

const INPUTS = ['issuer', 'subject', 'audience', 'claims', 'keys', 'ends_at']

/** What each platform puts into its JWTs. docs/federated.md says more. */
const PLATFORMS = [
  ['Kubernetes', 'the issuer of the cluster', 'system:serviceaccount:NAMESPACE:NAME'],
  ['GitHub Actions', 'https://token.actions.githubusercontent.com', 'repo:OWNER/REPOSITORY:ref:refs/heads/BRANCH'],
  ['GitLab CI', 'https://gitlab.com, or your own', 'project_path:GROUP/PROJECT:ref_type:branch:ref:BRANCH'],
  ['SPIFFE', 'jwt_issuer of the SPIRE server', 'spiffe://TRUST_DOMAIN/PATH'],
  ['AWS', 'https://ID.tokens.sts.global.api.aws', 'arn:aws:iam::ACCOUNT:role/NAME'],
  ['Entra', 'https://login.microsoftonline.com/TENANT/v2.0', 'the object id of the identity'],
  ['Google', 'https://accounts.google.com', 'the unique id of the service account'],
]

/** The inputs of a federated credential, with what was sent. */
export function federatedInputs(body: unknown, stateOf: (name: string) => FieldState, publicUrl: string): Html {
  const { text } = fieldsOf(body)
  const input = (name: string, label: string, hint: string) => ({
    name,
    label,
    hint,
    value: text(name),
    isCode: true,
    ...stateOf(name),
  })
  return html`${field(input('issuer', 'Issuer', 'The iss of its JWTs: an https URL. The server gets the public keys there.'))}
${field(input('subject', 'Subject', 'Their sub. A * stands for one segment between : and /.'))}
${field(input('audience', 'Audience', `Their aud. If empty: ${publicUrl}`))}
${textarea(input('claims', 'Further claims', 'One per line, such as repository_owner_id=1234567.'))}
${textarea(input('keys', 'Keys', 'The JWKS document of the issuer, only if this server cannot get it.'))}
${field({ ...input('ends_at', 'Ends', 'At the beginning of that day, in UTC. If empty, it does not end.'), type: 'date' })}
<details><summary>What to enter for Kubernetes, GitHub Actions, GitLab, SPIFFE, AWS, Entra and Google</summary>${table(
    'Platforms',
    ['Platform', 'Issuer', 'Subject'],
    PLATFORMS.map(([platform, issuer, subject]) => [
      platform,
      html`<code>${issuer}</code>`,
      html`<code>${subject}</code>`,
    ]),
  )}</details>`
}

/** Whether a form says anything about a federated credential. */
export function hasRule(body: unknown): boolean {
  const { text } = fieldsOf(body)
  return INPUTS.some((name) => text(name) !== '')
}

/** The federated credential in a form, not checked yet. */
export function ruleIn(body: unknown): FederatedInput {
  const { text } = fieldsOf(body)
  const claims = labelsIn(
    text('claims')
      .split('\n')
      .filter((line) => line.trim() !== ''),
  )
  return {
    issuer: text('issuer'),
    subject: text('subject'),
    audience: text('audience') || null,
    claims,
    keys: text('keys') === '' ? null : keysIn(text('keys')),
    ends_at: text('ends_at') === '' ? null : `${text('ends_at')}T00:00:00Z`,
  }
}

/** The form that adds a federated credential. It is open if it has an error. */
export function federatedForm(
  base: string,
  request: FastifyRequest,
  stateOf: (name: string) => FieldState,
  publicUrl: string,
): Html {
  const isOpen = INPUTS.some((name) => stateOf(name).error !== undefined)
  return html`<details class="confirm"${isOpen && html` open`}><summary class="button">Add a federated credential…</summary>
<form method="post" action="${`${base}/federated`}">${hidden({ request_key: newRequestKey() })}<p class="question" id="federated">Add a federated credential</p>
<div class="consequences"><p>Its client can then send a JWT of its platform where it sends its secret now. The secrets stay valid.${help('federated credentials')}</p></div>
${federatedInputs(isOpen ? request.body : undefined, stateOf, publicUrl)}
<div class="buttons"><button class="button primary">Add</button><button type="button" class="button" data-cancel hidden>Cancel</button></div></form></details>`
}
