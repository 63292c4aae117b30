import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ListedOperator } from '../../administration/operators.ts'
import { isFromProvider, readableName } from '../../domain/operator.ts'
import { type Html, html, path } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf, callerOf } from '../wire/caller.ts'
import { RefusedOperator } from '../wire/problem.ts'
import { idOf } from '../wire/routing.ts'
import { changedMessage, redirectChanged } from './changed.ts'
import { badge, note, section, table, time } from './components.ts'
import { assertNameTyped, confirm, formErrors, type Refused, redirectDone, refusedFor } from './forms.ts'
import { type Page, showPage } from './layout.ts'
import { assertNewSignIn, IN_A_CLONE } from './login.ts'

type Route = { Params: { name: string; id: string } }

/** /operators: operators with their keys and sessions, and the forms that remove them. They are added on the command line only. */
export function operatorPages(console: FastifyInstance, context: AdminContext): void {
  const actions = (request: FastifyRequest) => administrationOf(context, request).operators

  async function show(reply: FastifyReply, { errors, status }: Refused) {
    const { request } = reply
    const { content, ...shown } = page(await actions(request).list(), viewerOf(request), context)
    return showPage(
      reply,
      { ...shown, content: html`${formErrors(errors)}${await changedMessage(context, request)}${content}` },
      { status },
    )
  }

  console.get('/operators', (_, reply) => show(reply, { errors: [], status: 200 }))

  console.post<Route>('/operators/:name/remove', async (request, reply) => {
    assertNewSignIn(context, request, '/operators')
    const { name } = request.params
    try {
      assertNameTyped(request, readableName(await actions(request).show(name)))
      await actions(request).remove(name)
      return redirectChanged(context, reply, '/operators')
    } catch (error) {
      return show(reply, refusedFor(error))
    }
  })

  console.post<Route>('/operators/:name/keys/:id/revoke', async (request, reply) => {
    assertNewSignIn(context, request, '/operators')
    await actions(request).revokeKey(request.params.name, idOf(request.params.id))
    return redirectDone(reply, '/operators', 'key-revoked')
  })

  console.post<Route>('/operators/:name/sessions/:id/end', async (request, reply) => {
    const { name, id } = request.params
    const viewer = viewerOf(request)
    if (!viewer.isAdmin && viewer.name !== name) throw new RefusedOperator('viewer')
    await actions(request).endSession(name, idOf(id))
    return redirectDone(reply, '/operators', 'session-ended')
  })
}

type Viewer = ReturnType<typeof viewerOf>

function viewerOf(request: FastifyRequest) {
  const { name, role } = callerOf(request).operator
  return { name, isAdmin: role === 'admin', sessionId: request.session?.id, url: request.url }
}

function page(operators: readonly ListedOperator[], viewer: Viewer, context: AdminContext): Page {
  return {
    title: 'Operators',
    section: '/operators',
    lead: 'People and programs that may administer this server in the console or through the API.',
    content: html`${
      !viewer.isAdmin &&
      note('quiet', html`<p>You are a viewer: you see everything, and can end your own sessions only.</p>`)
    }
${section('all', 'Operators', operatorTable(operators, viewer))}
${section('sessions', 'Sessions', sessionTable(operators, viewer))}
${section('keys', 'API keys', keyTable(operators, viewer))}
${section('add', 'Add an operator, or a key', howToAdd(context))}`,
  }
}

function howToAdd({ howToSignIn, provider, signIn }: AdminContext): Html {
  if (howToSignIn !== undefined)
    return html`<p>Operators and keys are added on the command line, which does not work here: this server keeps its data in memory. To sign in: ${howToSignIn}</p>`
  return html`<div class="prose">
${provider && html`<p>People with a role at <bdi>${provider.host}</bdi> are added at their first sign-in, and have no keys.</p>`}
<p>${provider ? 'Other operators' : 'Operators'} and keys are added on the command line only, where the database can be reached, so that a stolen session or key cannot create others.</p>
<pre><code>token-server operators add NAME --role admin
token-server operators add NAME --role viewer
token-server operators key NAME --expires 90d${signIn.acceptsLinks && '\ntoken-server console NAME'}</code></pre>
<p>${IN_A_CLONE}</p>
<p>An admin can change everything, a viewer can only look. A key is for a program that uses the API. ${signIn.acceptsLinks && 'The last command prints a link that signs a person in to this console.'}</p>
</div>`
}

function operatorTable(operators: readonly ListedOperator[], viewer: Viewer): Html {
  const columns = ['Operator', 'Role', 'Added', 'Active keys', 'Sessions']
  const rows = operators.map((operator) => {
    const { name, role, createdAt, keys, sessions } = operator
    const isForeign = isFromProvider(operator)
    const shown = readableName(operator)
    const action = path`/operators/${name}/remove`
    return [
      html`<bdi id="operator-${name}">${shown}</bdi>${name === viewer.name && html` ${badge('you', 'good')}`}${isForeign && html`<div class="hint">From the identity provider, as <bdi>${name}</bdi></div>`}`,
      badge(role),
      time(createdAt),
      keys.filter(({ state }) => state === 'active').length,
      sessions.length,
      confirm({
        label: 'Remove',
        subject: shown,
        action,
        typed: { name: shown, isWrong: viewer.url === action },
        consequences: html`<p>All keys, sessions and links of this operator stop working. The audit still lists what the operator did.</p>${
          isForeign
            ? html`<p>The next sign-in adds the operator again, unless the identity provider no longer gives a role.</p>`
            : name === viewer.name &&
              html`<p><strong>This is you:</strong> you will be signed out, and only the command line can add you again.</p>`
        }`,
      }),
    ]
  })
  return table('Operators', columns, rows, viewer.isAdmin && 'Remove')
}

const KEY_TONES = { active: 'good', expired: 'quiet', revoked: 'bad' } as const

function keyTable(operators: readonly ListedOperator[], viewer: Viewer): Html {
  const columns = ['Key', 'Operator', 'State', 'Made', 'Ends', 'Last used']
  const rows = operators.flatMap(({ name, keys }) =>
    keys.map((key) => [
      `${key.id}`,
      html`<bdi>${name}</bdi>`,
      html`${badge(key.state, KEY_TONES[key.state])}${key.revokedAt !== null && html` ${time(key.revokedAt)}`}`,
      time(key.createdAt),
      time(key.endsAt),
      time(key.lastUsedAt),
      key.state === 'active' &&
        confirm({
          label: 'Revoke',
          subject: `key ${key.id} of ${name}`,
          action: path`/operators/${name}/keys/${key.id}/revoke`,
          consequences: html`<p>Any program that uses this key is refused from now on. This cannot be undone.</p>`,
        }),
    ]),
  )
  if (rows.length === 0) return html`<p class="quiet-text">No API keys.</p>`
  return table('API keys', columns, rows, viewer.isAdmin && 'Revoke')
}

function browserOf(userAgent: string): string {
  const [browser = userAgent] =
    /(?:Edg|OPR|Firefox)\/\d+/.exec(userAgent) ?? /(?:Chrome|Safari)\/\d+/.exec(userAgent) ?? []
  return browser
}

function sessionTable(operators: readonly ListedOperator[], viewer: Viewer): Html {
  const rows = operators.flatMap((operator) =>
    operator.sessions.map((session) => [
      html`${session.id}${session.id === viewer.sessionId && html` ${badge('this one', 'good')}`}`,
      html`<bdi>${readableName(operator)}</bdi>`,
      session.remoteAddress,
      html`<span class="hint" title="${session.userAgent}">${browserOf(session.userAgent)}</span>`,
      time(session.createdAt),
      time(session.lastSeenAt),
      (viewer.isAdmin || viewer.name === operator.name) &&
        confirm({
          label: 'End',
          subject: `session ${session.id} of ${readableName(operator)}`,
          action: path`/operators/${operator.name}/sessions/${session.id}/end`,
          consequences: html`<p>${session.id === viewer.sessionId ? 'You are' : 'The browser of this session is'} signed out at once.</p>`,
        }),
    ]),
  )
  const columns = ['Session', 'Operator', 'Address', 'Browser', 'Began', 'Last seen']
  // Anyone who sees this page has a session.
  return table('Sessions', columns, rows, 'End')
}
