import t, { type Test } from 'tap'
import type { RefusalCount } from '../../../src/domain/refusal.ts'
import { createConsoleWorld } from '../../support/console-world.ts'
import { actionsOf, copyOf, textOf, valuesOf } from '../../support/pages.ts'
import { refusal } from '../../support/refusal.ts'

const MINUTE = 60_000
const HOSTILE = `<script>alert(1)</script>"'&amp;`

/** A console with three suites, and an application approved for the first one. */
async function setting(t: Test, options?: Parameters<typeof createConsoleWorld>[1]) {
  const world = await createConsoleWorld(t, options)
  const { administration, store, clock } = world
  for (const suiteId of ['store', 'product', 'third']) await administration.suites.register({ suiteId, name: suiteId })
  const { clientId } = await administration.applications.register({
    name: 'Shop',
    developerEmail: 'dev@partner.example',
    suites: ['store'],
  })
  const browser = await world.signIn()
  const path = `/applications/${clientId}`
  const page = async () => (await browser(path)).body
  /** The hidden values in the forms for names and approvals. */
  const names = async () => {
    const body = await page()
    const [name, developer_email] = [valuesOf(body, 'name')[0] ?? '', valuesOf(body, 'developer_email')[0] ?? '']
    return { shown_name: name, shown_developer_email: developer_email, name, developer_email }
  }
  const show = () => administration.applications.show(clientId)
  /** Records refusals of the application, as a server does. */
  const refuse = (...refusals: Partial<RefusalCount>[]) => {
    const common = { firstAt: clock.time, lastAt: clock.time, requestId: 'request-1' }
    return store.recordRefusals(refusals.map((one) => refusal(clientId, { ...common, ...one })))
  }
  return { ...world, clientId, browser, path, page, names, show, refuse }
}

t.test('Application: the cause of its refusals comes first, with a remedy on the page', async (t) => {
  const { page, refuse, clock, administration, clientId } = await setting(t)
  t.match(
    textOf(await page()),
    /Status As of \d\d:\d\d:00 UTC · Reload No problem is known\. Nothing has been asked for with it yet\. .*still see errors\?/,
  )
  await refuse({ count: 17 }, { reason: 'made up', suite: 'store', requestId: undefined, lastAt: clock.time - 1 })
  clock.time += 3 * MINUTE
  const text = textOf(await page())
  t.match(
    text,
    /Status As of \d\d:\d\d:00 UTC · Reload There is a problem\. Its requests are refused, 17 times, .* that it sends is wrong, .*“Rotate secret” below/,
  )
  t.match(text, /The secret does not match wrong secret 17 .*192\.0\.2\.1 request-1/)
  t.match(text, /made up 1 3 min ago \S+ \S+ UTC \/v1\/oauth\/accesstoken store 192\.0\.2\.1 – /)
  await administration.applications.suspend(clientId)
  t.match(
    textOf(await page()),
    /suspended Resume Status As of \d\d:\d\d:00 UTC · Reload There is a problem\. It is suspended: .* To allow it again: “Resume” above\./,
  )
})

t.test('Application: times in the diagnosis are time elements, which a browser shows in its zone', async (t) => {
  const { page, refuse, clock, administration, clientId } = await setting(t)
  const [first] = await administration.secrets.list(clientId)
  await administration.secrets.rotate(clientId, MINUTE)
  await administration.secrets.revoke(clientId, first?.id as number)
  await refuse({ reason: 'revoked secret' })
  const moment = new Date(clock.time).toISOString()
  t.match(await page(), `it uses (${first?.id}) at <time datetime="${moment}">${moment.slice(0, 10)} `)
  await refuse({ reason: 'field missing', requestId: '9999-99-99T99:99:99.999Z' })
  t.match(textOf(await page()), 'search it for 9999-99-99T99:99:99.999Z.', 'but not what only looks like one')
})

t.test('Application: its page says when it was made, and links to itself, because it does not change', async (t) => {
  const { page, path } = await setting(t)
  const reload = `<a href="${path}">Reload</a>`
  t.match(
    await page(),
    `As of <time data-clock="seconds" datetime="2027-01-15T08:00:00.000Z">08:00:00 UTC</time> · ${reload}`,
  )
})

t.test('Application: each reason for refusals has a line, newest first', async (t) => {
  const { page, refuse, clock } = await setting(t)
  await refuse({ lastAt: clock.time - MINUTE }, { reason: 'unsupported grant type' })
  t.match(
    await page(),
    /There is a problem\.<\/strong><\/p><ul><li>[^<]*grant_type[^<]*<\/li><li>[^<]*that it sends is wrong/,
  )
})

t.test('Application: its page explains how to get a token, right below the status until it has one', async (t) => {
  const { page, store, clientId, clock, administration } = await setting(t)
  const before = await page()
  t.match(copyOf(before, 'curl'), `'client_id=${clientId}' \\\n  --data-urlencode 'client_secret=CLIENT_SECRET'`)
  t.ok(before.indexOf('id="try"') < before.indexOf('id="refusals"'))
  t.match(textOf(before), 'Last token never A new one shows up within a minute.')
  const { key } = await administration.applications.show(clientId)
  await store.addTokenCounts([{ applicationKey: key, hour: 0, issued: 1, refused: 0, lastTokenAt: clock.time }])
  const after = await page()
  t.match(copyOf(after, 'curl'), 'CLIENT_SECRET')
  t.ok(after.indexOf('id="try"') > after.indexOf('id="refusals"'))
  t.equal(after.match(/id="try"/g)?.length, 1)
})

t.test('Application: its page shows refused client ids that look like its own', async (t) => {
  const { page, refuse, clientId } = await setting(t)
  const sent = `${clientId.slice(0, 4).toLowerCase()}... (33 characters)`
  await refuse({ clientId: sent, isKnown: false, reason: 'unknown client' })
  const body = await page()
  t.match(body, `<span class="code">${sent}</span>`, 'which wraps where the table is too wide, unlike <code>')
  const text = textOf(body)
  t.match(text, 'This may need attention. Nothing of it is refused, but an unknown client id that looks like it is')
  t.match(text, `No application or suite has this client id unknown client ${sent}`)
})

t.test('Application: its page shows tokens, quota, the last revoke-all and the last changes', async (t) => {
  const { page, store, show, clock, administration, clientId } = await setting(t)
  const { key } = await show()
  const hour = Math.floor(clock.time / 3_600_000)
  await store.addTokenCounts([{ applicationKey: key, hour, issued: 1234, refused: 5, lastTokenAt: clock.time }])
  await administration.applications.revokeAllTokens(clientId)
  await administration.operators.add(clientId, 'viewer')
  const body = await page()
  t.match(textOf(body), 'Tokens this hour 1,234 5 more refused by the quota')
  t.match(textOf(body), /All tokens revoked 2027-/)
  t.match(textOf(body), /Last changes All changes .* All tokens revoked .* Application registered/)
  t.notMatch(textOf(body), 'Operator added', 'an operator may have the same name')
  t.match(body, `href="/audit?subject=${clientId}"`)
})

t.test('Application: only approvals that were ticked or unticked are changed', async (t) => {
  const { browser, path, page, show, administration, clientId, store } = await setting(t)
  const body = await page()
  t.strictSame(valuesOf(body, 'shown'), ['store'])
  t.strictSame(valuesOf(body, 'suite'), ['store', 'product', 'third'])
  // Before this form is sent, another operator adds and withdraws approvals.
  await administration.applications.approve(clientId, 'third')
  const form = { shown: ['store'], suite: ['product'] }
  const { statusCode, headers } = await browser(`${path}/approvals`, { form })
  t.equal(statusCode, 303)
  t.equal(headers.location, `${path}?done=approvals-saved`)
  t.match((await browser(String(headers.location))).body, 'The approvals are saved.')
  t.strictSame((await show()).suites, ['product', 'third'])
  const [event] = await store.listAuditEvents({ limit: 1 })
  t.match(event, { actor: 'anna', origin: 'console', remoteAddress: '127.0.0.1', action: 'approval withdrawn' })

  await administration.suites.remove('product')
  t.equal((await browser(`${path}/approvals`, { form: { shown: ['product', 'third'] } })).statusCode, 303)
  t.strictSame((await show()).suites, [])
  t.equal((await browser(`${path}/approvals`, { form: { suite: 'product' } })).statusCode, 404)
})

t.test('Application: approvals that the page did not show are not changed', async (t) => {
  const { page, path, signIn, administration, clientId } = await setting(t)
  for (let n = 0; n < 200; n++) await administration.suites.register({ suiteId: `s-${n}`, name: 'S' })
  await administration.applications.approve(clientId, 's-199')
  const body = await page()
  t.equal(valuesOf(body, 'suite').length, 200)
  t.strictSame(valuesOf(body, 'shown'), ['store'])
  t.match(
    textOf((await (await signIn('viewer'))(path)).body),
    'Approved for these suites: store store s-199',
    'all of them',
  )
  t.match(textOf(body), 'At most 200 suites are shown here.')
})

t.test('Application: its page says if there are no suites', async (t) => {
  const { page, administration } = await setting(t)
  for (const suiteId of ['store', 'product', 'third']) await administration.suites.remove(suiteId)
  t.match(textOf(await page()), 'There are no suites yet')
})

t.test('Application: its name and developer email can be changed, and errors are shown at the field', async (t) => {
  const { browser, path, names, show, store } = await setting(t)
  const events = async () => (await store.listAuditEvents({ limit: 100 })).length
  const before = await events()
  const same = await browser(`${path}/names`, { form: await names() })
  t.equal(same.headers.location, `${path}?done=names-saved`)
  t.equal(await events(), before, 'nothing was changed')
  const wrong = await browser(`${path}/names`, { form: { ...(await names()), name: '', developer_email: HOSTILE } })
  t.equal(wrong.statusCode, 422)
  t.match(wrong.body, 'id="field-name-error">The name must not be empty.')
  t.match(wrong.body, 'id="field-developer_email-error">The developer email must be an email address.')
  t.strictSame(valuesOf(wrong.body, 'developer_email'), [HOSTILE])
  t.strictSame(valuesOf(wrong.body, 'shown_name'), ['Shop'])
  await browser(`${path}/names`, { form: { ...(await names()), name: HOSTILE } })
  t.match(await show(), { name: HOSTILE, developerEmail: 'dev@partner.example' })
  t.notMatch((await browser(path)).body, '<script>alert')
})

t.test('Application: a name with surrounding spaces is kept if it was not changed in the form', async (t) => {
  const { browser, path, names, show, administration, clientId } = await setting(t)
  await administration.applications.update(clientId, { name: ' Shop ' })
  const form = { ...(await names()), developer_email: 'new@partner.example' }
  t.equal((await browser(`${path}/names`, { form })).statusCode, 303)
  t.match(await show(), { name: ' Shop ', developerEmail: 'new@partner.example' })
  await administration.applications.update(clientId, { name: 'Theirs' })
  t.equal((await browser(`${path}/names`, { form })).statusCode, 303, 'an unchanged field causes no conflict')
})

t.test('Application: if two operators change the name, the second one sees both and decides', async (t) => {
  const { browser, path, names, show, signIn } = await setting(t)
  const mine = await names()
  await (await signIn())(`${path}/names`, { form: { ...mine, name: `Theirs ${HOSTILE}` } })
  const { statusCode, body } = await browser(`${path}/names`, { form: { ...mine, name: 'Mine' } })
  t.equal(statusCode, 409)
  t.match(
    textOf(body),
    `Someone else changed this in the meantime, so nothing was saved. Save again to overwrite it. Name: now Theirs ${HOSTILE} , yours Mine`,
  )
  t.match(await show(), { name: `Theirs ${HOSTILE}` })
  t.strictSame(valuesOf(body, 'name'), ['Mine'])
  const again = { ...mine, name: 'Mine', shown_name: valuesOf(body, 'shown_name')[0] ?? '' }
  t.equal((await browser(`${path}/names`, { form: again })).statusCode, 303)
  t.match(await show(), { name: 'Mine' })
})

t.test('Application: a field that another operator changed is kept if it was not changed in the form', async (t) => {
  const { browser, path, names, show, administration, clientId } = await setting(t)
  const mine = await names()
  await administration.applications.update(clientId, { name: 'Theirs' })
  const form = { ...mine, developer_email: 'new@partner.example' }
  t.equal((await browser(`${path}/names`, { form })).statusCode, 303)
  t.match(await show(), { name: 'Theirs', developerEmail: 'new@partner.example' })
  t.equal(
    (await browser(`${path}/names`, { form: { name: 'Theirs', developer_email: 'x@y.example' } })).statusCode,
    303,
  )
})

t.test(
  'Application: it can be suspended, resumed and, after confirmation, removed, and its tokens revoked',
  async (t) => {
    const { browser, path, show, page, administration } = await setting(t)
    const post = async (what: string) => (await browser(`${path}/${what}`, { form: {} })).headers.location
    t.equal(await post('suspend'), `${path}?done=application-suspended`)
    t.equal((await show()).status, 'suspended')
    t.match(actionsOf(await page()), [`${path}/resume`])
    t.equal(await post('resume'), `${path}?done=application-resumed`)
    t.equal((await show()).status, 'active')
    t.equal(await post('revoke-tokens'), `${path}?done=tokens-revoked`)
    t.equal((await show()).tokenGeneration, 1)

    const question = (await browser(`${path}/remove`)).body
    t.match(
      textOf(question),
      /Remove Shop \? .* Its secrets are deleted: 1, of which 1 is active\. Its approvals are deleted: 1\./,
    )
    t.strictSame(actionsOf(question), [`${path}/remove`])
    await administration.secrets.rotate((await show()).clientId, 0)
    await administration.secrets.rotate((await show()).clientId, MINUTE)
    t.match(textOf((await browser(`${path}/remove`)).body), '3, of which 2 are active')
    t.equal(await post('remove'), '/applications?done=application-removed')
    await t.rejects(show())
    t.equal((await browser(`${path}/remove`)).statusCode, 404)
    t.equal((await browser(`${path}/suspend`, { form: {} })).statusCode, 404)
  },
)

t.test('Application: viewers get the page without forms, and their changes are refused', async (t) => {
  const { path, signIn, show, administration, clientId } = await setting(t)
  const viewer = await signIn('viewer')
  const { body } = await viewer(path)
  t.strictSame(actionsOf(body), [])
  t.match(textOf(body), 'You are a viewer')
  t.match(textOf(body), 'Approved for these suites: store store')
  const before = await show()
  const refused = await viewer(`${path}/remove`)
  t.equal(refused.statusCode, 403)
  t.match(textOf(refused.body), 'Nothing was changed. Go back, or to the overview .')
  t.notMatch(textOf(refused.body), 'repeat what you did', 'it would be refused again')
  for (const what of [
    'approvals',
    'names',
    'suspend',
    'resume',
    'revoke-tokens',
    'remove',
    'secrets',
    'secrets/1/revoke',
  ]) {
    t.equal((await viewer(`${path}/${what}`, { form: { suite: 'third', name: 'X' } })).statusCode, 403, what)
  }
  t.strictSame(await show(), before)
  await administration.applications.withdraw(clientId, 'store')
  t.match(textOf((await viewer(path)).body), 'Not approved for any suite, so its tokens are not valid anywhere.')
})

t.test('Application: the status tells a viewer to ask an admin', async (t) => {
  const { path, signIn, administration, clientId, refuse, clock } = await setting(t)
  const viewer = await signIn('viewer')
  const status = async () => textOf((await viewer(path)).body)
  await refuse(
    { lastAt: clock.time - MINUTE },
    { reason: 'application not approved', suite: 'third', endpoint: '/v1/oauth/verify/:suite' },
  )
  t.match(await status(), 'If it should be: ask an admin to approve it for third.')
  t.match(await status(), 'If the secret is lost, use “Rotate secret” (ask an admin) and hand over the new one.')
  await administration.applications.withdraw(clientId, 'store')
  t.match(await status(), 'its tokens are valid nowhere: ask an admin to approve it for a suite.')
  await administration.applications.suspend(clientId)
  t.match(await status(), 'To allow it again: ask an admin to resume it.')
  const [secret] = await administration.secrets.list('store')
  await administration.secrets.revoke('store', secret?.id as number, { force: true })
  t.match(textOf((await viewer('/suites/store')).body), '“Rotate secret” (ask an admin) makes a new one')
})

t.test('Application: for an unknown client id it suggests similar ones', async (t) => {
  const { browser, clientId, refuse } = await setting(t)
  const asked = `/applications/${clientId.slice(0, -1)}`
  const near = await browser(asked)
  t.equal(near.statusCode, 404)
  t.match(near.body, `<a href="/applications/${clientId}">`)
  t.match(textOf(near.body), `Did you mean one of these? ${clientId} Shop`)
  await refuse({ clientId: 'nobo... (6 characters)', isKnown: false, reason: 'unknown client' })
  t.match(textOf((await browser('/applications/nobody')).body), 'Refused client ids that look like it')
  const suite = await browser('/applications/store')
  t.equal(suite.statusCode, 404)
  t.match(suite.body, '<a href="/suites/store">')
  const hostile = await browser(`/applications/${encodeURIComponent(HOSTILE)}`)
  t.equal(hostile.statusCode, 404)
  t.match(textOf(hostile.body), `No application has the client id ${HOSTILE}`)
  t.notMatch(hostile.body, '<script>alert')
})

t.test('Application: its page and forms work with every allowed client id', async (t) => {
  const { browser, administration } = await setting(t)
  const clientId = `/?#%&"'<b>${'i'.repeat(190)}`
  await administration.applications.register({ name: 'N', developerEmail: 'a@b.example', clientId })
  const path = `/applications/${encodeURIComponent(clientId)}`
  const { statusCode, body } = await browser(path)
  t.equal(statusCode, 200)
  t.ok(actionsOf(body).every((action) => action.startsWith(path)))
  t.equal((await browser(`${path}/suspend`, { form: {} })).headers.location, `${path}?done=application-suspended`)
})

t.test('Application: if an approval is missing, it says where to add it', async (t) => {
  const { page, refuse, administration, clientId } = await setting(t)
  await refuse({ reason: 'application not approved', suite: 'third', endpoint: '/v1/oauth/verify/:suite' })
  t.match(textOf(await page()), 'It is not approved for third. If it should be: tick third under Approvals.')
  await administration.applications.withdraw(clientId, 'store')
  t.match(textOf(await page()), 'its tokens are valid nowhere: tick a suite under Approvals.')
})

t.test('Application: it says if all of its changes have been purged', async (t) => {
  const { page, store, clock } = await setting(t)
  await store.purgeAuditEvents(clock.time + 1, 100)
  t.match(textOf(await page()), 'No changes in the last 400 days.')
})

t.test('Application: a failing store is not reported as an unknown application or an invalid form', async (t) => {
  const { browser, path, store, names } = await setting(t)
  const form = { ...(await names()), name: 'X' }
  store.updateApplication = async () => {
    throw new Error('a bug')
  }
  t.equal((await browser(`${path}/names`, { form })).statusCode, 500)
  store.listRefusals = async () => {
    throw new Error('a bug')
  }
  t.equal((await browser(path)).statusCode, 500)
})
