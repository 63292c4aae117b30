import t, { type Test } from 'tap'
import type { RefusalCount } from '../../../src/domain/refusal.ts'
import { actionsOf, copyOf, createConsoleWorld, textOf, valuesOf } from '../../support/console-world.ts'
import { DIGEST } from '../../support/newcomers.ts'
import { on } from '../../support/on.ts'
import { refusal } from '../../support/refusal.ts'
import { registrationJson } from '../../support/registration.ts'

const MINUTE = 60_000
const HOSTILE = `<script>alert(1)</script>"'&amp;`

/** A console with three suites, and an application approved for the first one. */
async function setting(t: Test) {
  const world = await createConsoleWorld(t)
  const { administration, store, clock } = world
  for (const suiteId of ['store', 'product', 'third']) await administration.suites.register({ suiteId, name: suiteId })
  const names = { name: 'Shop', developerEmail: 'dev@partner.example' }
  const { clientId } = await administration.applications.register({ ...names, suites: ['store'] })
  const browser = await world.signIn()
  const path = `/applications/${clientId}`
  const page = () => browser.body(path)
  const text = async () => textOf(await page())
  const send = (what: string, form: Record<string, string | string[]> = {}) =>
    browser(what === '' ? path : `${path}/${what}`, { form })
  /** Sends the form of the page, with these approvals. */
  const approve = (form: Record<string, string | string[]>) =>
    send('', registrationJson({ name: 'Shop', developer_email: 'dev@partner.example', ...form }))
  /** Where a form leads. */
  const post = async (...sent: Parameters<typeof send>) => (await send(...sent)).headers.location
  const show = () => administration.applications.show(clientId)
  const update = (names: Parameters<typeof administration.applications.update>[1]) =>
    administration.applications.update(clientId, names)
  /** Records refusals of the application, as a server does. */
  const refuse = (...refusals: Partial<RefusalCount>[]) => {
    const common = { firstAt: clock.time, lastAt: clock.time, requestId: 'request-1' }
    return store.recordRefusals(refusals.map((one) => refusal(clientId, { ...common, ...one })))
  }
  return { ...world, clientId, browser, path, page, text, send, approve, post, show, update, refuse }
}

t.test('Application: the cause of its refusals comes first, with a remedy on the page', async (t) => {
  const { page, text, path, refuse, clock, administration, clientId } = await setting(t)
  t.match(
    await page(),
    `data-of="client=${encodeURIComponent(clientId)}" role="status" hidden></span><button type="button" class="button" data-live-pause hidden>Pause</button><a class="button" href="${path}" data-live-reload>Reload</a>`,
    'live.js keeps it up to date; without scripts there is a link to reload it',
  )
  t.match(
    await text(),
    /no token yet Edit .*Status As of \d\d:\d\d:00 UTC Pause Reload No problem is known\. It has not asked for a token yet\. .*still see errors\?/,
  )
  await refuse({ count: 17 }, { reason: 'made up', suite: 'store', requestId: undefined, lastAt: clock.time - 1 })
  clock.time += 3 * MINUTE
  const wrong = await text()
  t.match(
    wrong,
    /Status As of \d\d:\d\d:00 UTC Pause Reload There is a problem\. Its requests are refused, 17 times, .* that it sends is wrong, .*“Rotate secret”/,
  )
  t.match(wrong, /failing no token yet Edit/)
  t.match(wrong, /The secret does not match wrong secret 17 .*192\.0\.2\.1 request-1/)
  t.match(wrong, /made up 1 3 min ago \S+ \S+ UTC \/v1\/oauth\/accesstoken store 192\.0\.2\.1 – /)
  await administration.applications.suspend(clientId)
  t.match(
    await text(),
    /suspended Edit .* Status .* It is suspended\. It was suspended by tester 0 s ago, at \S+ \S+ UTC : it gets no tokens, .* To allow it again: “Resume”\. Resume /,
  )
  t.notMatch(await page(), /class="(badge|note) bad"/, 'which is no problem')
})

t.test('Application: its page has the badges that the list has', async (t) => {
  const { browser, page, refuse, store, clientId, clock } = await setting(t)
  const badgesIn = (body: string) => /<span class="badges">.*?<\/span><\/span>/.exec(body)?.[0] ?? ''
  const both = async () => [badgesIn(await page()), badgesIn(await browser.body('/applications'))].map(textOf)
  const same = async (words: string) => t.strictSame(await both(), [words, words])
  await same(' no token yet ')
  await refuse({ count: 17 })
  const secret = { digest: DIGEST, createdAt: clock.time, endsAt: clock.time + MINUTE }
  await on(store).rotateSecret(clientId, secret, clock.time, 0)
  await store.addUsage([{ clientId, tokens: 361, checks: 0, refusals: 0 }], clock.time)
  await same(' failing secret ends heavy no token yet ')
  clock.time += MINUTE
  await same(' failing no secret heavy no token yet ')
})

t.test('Application: remedies are worded for who reads them, and times are shown in their zone', async (t) => {
  const { path, page, text, browser, signIn, administration, clientId, refuse, clock } = await setting(t)
  const viewer = await signIn('viewer')
  const shown = () => viewer.text(path)
  await refuse({ reason: 'application not approved', suite: 'third', endpoint: '/v1/oauth/verify/:suite' })
  t.match(await text(), 'It is not approved for third. If it should be: “Approve for third”. Approve for third')
  t.match(await shown(), 'If it should be: ask an admin to approve it for third.')
  t.strictSame(actionsOf(await page()).slice(0, 2), [`${path}/suspend`, `${path}/approve`])
  await refuse({ reason: 'application not approved', suite: 'product', endpoint: '/v1/oauth/verify/:suite' })
  t.match(await text(), 'If it should be: use the buttons.')
  await administration.applications.suspend(clientId)
  t.match(await shown(), 'To allow it again: ask an admin to resume it.')
  const [secret] = await administration.secrets.list('store')
  await administration.secrets.revoke('store', secret?.id as number, { force: true })
  t.match(await viewer.text('/suites/store'), '“Rotate secret” (ask an admin) makes a new one')
  t.match(await browser.body('/suites/store'), '<a class="button primary" href="#rotate">Rotate secret…</a>')

  await administration.applications.resume(clientId)
  const [first] = await administration.secrets.list(clientId)
  await administration.secrets.rotate(clientId, MINUTE)
  clock.time += 1
  await administration.secrets.revoke(clientId, first?.id as number)
  await refuse({ reason: 'revoked secret', count: 9 })
  const moment = new Date(clock.time).toISOString()
  const [revoked] = (await administration.searchAuditEvents({ subject: clientId, limit: 1 })).events
  const link = `<a href="/audit?subject=${clientId}&amp;open=${revoked?.id}#row-${revoked?.id}">`
  const revocation = `<time datetime="${moment}">${moment.slice(0, 10)} `
  t.match(await page(), `it uses (${first?.id}) was revoked by tester 0 s ago, at ${link}${revocation}`)
  t.match(await page(), `${link}revoked by <bdi>tester</bdi>, ${revocation}`, 'in the list of secrets, too')
  await refuse({ reason: 'token quota exceeded', count: 9 })
  t.match(await page(), `<a class="button" href="${path}/edit?propose=quota#field-quota">Edit the quota…</a>`)
  t.match(await browser.body(`${path}/edit?propose=quota`), ' id="field-quota"')
  await administration.applications.update(clientId, { sourceAddresses: ['192.0.2.77'] })
  await refuse({ reason: 'address not allowed', count: 9 })
  t.match(await page(), `href="${path}/edit#field-source_addresses">Edit the source addresses…</a>`)
  t.match(await shown(), 'If it needs more: ask an admin to change its quota.')
  await refuse({ reason: 'field missing', count: 99, requestId: '9999-99-99T99:99:99.999Z' })
  t.match(await text(), 'search it for 9999-99-99T99:99:99.999Z.', 'but not what only looks like one')
})

t.test('Application: its page explains how to get a token until it has one, and shows its last changes', async (t) => {
  const { page, text, store, clientId, clock, show, administration } = await setting(t)
  const isBelowStatus = (body: string) => body.indexOf('id="try"') < body.indexOf('id="refusals"')
  const before = await page()
  t.match(copyOf(before, 'curl'), `'client_id=${clientId}' \\\n  --data-urlencode 'client_secret=CLIENT_SECRET'`)
  t.ok(isBelowStatus(before))
  t.match(textOf(before), 'Last token never A new one shows up within a minute.')
  const { key } = await show()
  const hour = Math.floor(clock.time / 3_600_000)
  await store.addTokenCounts([{ applicationKey: key, hour, issued: 1, refused: 5, lastTokenAt: clock.time }])
  await store.addUsage([{ clientId, tokens: 1234, checks: 0, refusals: 0 }], clock.time)
  const after = await page()
  t.match(copyOf(after, 'curl'), 'CLIENT_SECRET')
  t.notOk(isBelowStatus(after))
  t.equal(after.match(/id="try"/g)?.length, 1)
  t.match(textOf(after), 'Tokens, last hour 1,234 0 in the hour before')

  const [secret] = (await show()).secrets
  const { time } = clock
  for (const [use, shown] of [
    [{ lastUsedAt: time - 10 }, ' 2027-01-15 08:00 UTC , with secret 4 Tokens'],
    [{ lastUsedAt: time, lastUsedFrom: '192.0.2.7' }, ' UTC , from 192.0.2.7 with secret 4 Tokens'],
    [{ lastUsedAt: time + MINUTE, lastUsedFrom: '::1' }, ' UTC Tokens, last hour'],
  ] as const) {
    await store.recordSecretUses([{ secretId: Number(secret?.id), ...use }])
    t.match(await text(), shown)
  }

  await administration.applications.revokeAllTokens(clientId)
  await administration.operators.add(clientId, 'viewer')
  t.match(await text(), /All tokens revoked 2027-/)
  t.match(await text(), /Last changes All changes .* All tokens revoked .* Application registered/)
  t.notMatch(await text(), 'Operator added', 'an operator may have the same name')
  t.match(await page(), `href="/audit?subject=${clientId}"`)
  await store.purge('audit events', clock.time + 1, 100)
  t.match(await text(), 'No changes in the last 400 days.')
})

t.test('Application: only approvals that were ticked or unticked are changed', async (t) => {
  const { browser, approve, text, show, administration, clientId, store, path } = await setting(t)
  const { body } = await browser(`${path}/edit`)
  t.strictSame(valuesOf(body, 'shown'), ['store'])
  t.strictSame(valuesOf(body, 'suite'), ['store', 'product', 'third'])
  // Before this form is sent, another operator adds and withdraws approvals.
  await administration.applications.approve(clientId, 'third')
  const { statusCode, headers } = await approve({ shown: ['store'], suite: ['product'] })
  t.equal(statusCode, 303)
  t.match(await browser.body(String(headers.location)), 'The changes are saved.')
  t.strictSame((await show()).suites, ['product', 'third'])
  const [event] = await store.listAuditEvents({ limit: 1 })
  t.match(event, { actor: 'anna', origin: 'console', remoteAddress: '127.0.0.1', action: 'approval withdrawn' })

  await administration.suites.remove('product')
  t.equal((await approve({ shown: ['product', 'third'] })).statusCode, 303)
  t.strictSame((await show()).suites, [])
  const again = await approve({ shown: 'product', suite: [] })
  t.equal(again.headers.location, `${path}?done=nothing-changed`)
  t.match(await browser.body(String(again.headers.location)), 'Nothing has changed.')
  for (const suiteId of ['store', 'third']) await administration.suites.remove(suiteId)
  t.match(await text(), 'There are no suites yet')
})

t.test('Application: names and approvals are one form; a refused one keeps what was entered', async (t) => {
  const { browser, approve, show, path, administration } = await setting(t)
  const ticked = (body: string) => [...body.matchAll(/value="(\w+)" checked/g)].map(([, suite]) => suite)
  const wrong = await approve({ shown: 'store', suite: 'third', name: '' })
  t.equal(wrong.statusCode, 422)
  t.strictSame([ticked(wrong.body), valuesOf(wrong.body, 'shown')], [['third'], ['store']])
  const said = wrong.body
  t.match(said, /<h1>.*role="alert"><p>Nothing was changed.*<a href="#field-name">.*data-guard="changed".*id="names"/s)
  t.strictSame(wrong.body.match(/<input id="[^"]*"[^>]* autofocus/g)?.length, 1)
  t.match(wrong.body, /<input id="field-name"[^>]* autofocus aria-invalid="true"/)
  await administration.suites.remove('product')
  const gone = await approve({ shown: 'store', suite: ['third', 'product'], name: 'Mine' })
  t.equal(gone.statusCode, 404)
  t.match(gone.body, /<fieldset[^>]* aria-invalid="true"[^>]* tabindex="-1" autofocus>/)
  t.match(gone.body, 'There is no suite with the id product.')
  t.match(await browser.body(`${path}/edit`), 'data-guard=""', 'but not before anything was edited')
  t.match(await show(), { name: 'Shop', suites: ['store'] })
  const both = await approve({ shown: 'store', suite: 'third', name: 'Mine' })
  t.match(both.headers.location, /changed=\d+$/)
  t.match(await show(), { name: 'Mine', suites: ['third'] })
})

t.test('Application: of many suites 200 can be ticked, and the others keep their approvals', async (t) => {
  const { browser, path, signIn, administration, clientId } = await setting(t)
  for (let n = 0; n < 200; n++) await administration.suites.register({ suiteId: `s-${n}`, name: 'S' })
  await administration.applications.approve(clientId, 's-199')
  const { body } = await browser(`${path}/edit`)
  t.equal(valuesOf(body, 'suite').length, 200)
  t.strictSame(valuesOf(body, 'shown'), ['store'])
  t.match(textOf(body), 'At most 200 suites are shown here.')
  const seen = await (await signIn('viewer')).text(path)
  t.match(seen, 'Approvals store store s-199 s-199', 'all of them')
  t.match(await browser.text(path), 'Approvals Edit approvals store store', 'an admin has a link to the form')
})

const MAIL = 'dev@partner.example'
/** The form for names as the page has it for `Shop`, with some fields edited. */
const edited = (fields: Record<string, string>) => ({
  ...registrationJson({ name: 'Shop', developer_email: MAIL }),
  ...{ shown_name: 'Shop', shown_developer_email: MAIL },
  ...fields,
})

t.test('Application: if two operators change one of its names, the second one sees both and decides', async (t) => {
  const { browser, send, post, path, show, update, store } = await setting(t)
  const changes = async () => (await store.listAuditEvents({ limit: 100 })).length
  const before = await changes()
  const form = await browser.body(`${path}/edit`)
  for (const [name, value] of Object.entries(edited({}))) t.strictSame(valuesOf(form, name), [value])
  t.equal(await post('', edited({})), `${path}?done=nothing-changed`)
  t.equal(await changes(), before, 'nothing was changed')
  await update({ name: ' Shop ' })
  const mail = edited({ shown_name: ' Shop ', name: ' Shop ', developer_email: 'new@partner.example' })
  t.equal((await send('', mail)).statusCode, 303)
  const kept = { name: ' Shop ', developerEmail: 'new@partner.example' }
  t.match(await show(), kept, 'a field not edited keeps its spaces')
  const theirs = `Theirs ${HOSTILE}`
  await update({ name: theirs })
  t.equal((await send('', mail)).statusCode, 303, 'both want the same, or only they have edited it')
  t.equal((await send('', { ...mail, developer_email: 'x@partner.example' })).statusCode, 409)
  const { statusCode, body } = await send('', { ...mail, name: 'Mine' })
  t.equal(statusCode, 409)
  t.match(
    textOf(body),
    `Nothing was changed. Name: someone else has changed it to ${theirs} in the meantime. Save again to overwrite it.`,
  )
  t.match(await show(), { name: theirs, developerEmail: 'new@partner.example' })
  t.strictSame(valuesOf(body, 'name'), ['Mine'])
  const [shown_name = ''] = valuesOf(body, 'shown_name')
  t.equal((await send('', { ...mail, name: 'Mine', shown_name })).statusCode, 303)
  t.match(await show(), { name: 'Mine' })
  const program = registrationJson({ name: 'Mine' })
  t.equal((await send('', program)).statusCode, 303, 'what does not say what it was shown')
  store.listRefusals = async () => {
    throw new Error('a bug')
  }
  t.equal(await browser.status(path), 500, 'a mistake of the server is not an unknown application')
})

t.test('Application: labels, note and quota are edited in its form, and shown and found', async (t) => {
  const { send, post, page, path, show, update, browser } = await setting(t)
  const values = { labels: 'owner=web\r\n\r\n environment = a=b \r\n', note: `One\r\n${HOSTILE}`, quota: '1000' }
  t.match(await post('', edited(values)), /changed=/)
  const saved = { labels: { environment: 'a=b', owner: 'web' }, note: `One\n${HOSTILE}`, quota: 1000 }
  t.match(await show(), saved)
  const body = await page()
  t.match(body, 'href="/applications?label=owner%3Dweb"')
  t.match(textOf(body), `Quota 1,000 tokens an hour Labels environment=a=b owner=web Note One ${HOSTILE}`)
  t.match(await browser.body(`${path}/edit`), '>\nenvironment=a=b\nowner=web</textarea>')
  const listed = (query: string) => browser.text(`/applications?${query}`)
  t.match(await listed('label=owner%3Dweb'), / \+2 dev@partner\.example/)
  t.match(await browser.body('/applications'), 'title="environment=a=b, owner=web"')
  t.match(await listed('label=owner%3Dwe'), 'No matches')
  t.match(await listed('search=owner%3Dwe'), ' +2 ')
  const shown = { shown_labels: 'environment=a=b\r\nowner=web', shown_note: values.note, shown_quota: '1000' }
  t.match(await post('', edited({ ...shown, labels: shown.shown_labels, note: values.note })), /nothing-changed/)
  const wrong = await send('', edited({ ...shown, labels: 'Owner', quota: 'x' }))
  t.equal(wrong.statusCode, 422)
  t.match(textOf(wrong.body), 'a letter or a digit: Owner.')
  t.match(textOf(wrong.body), 'The quota must be a whole number')
  await update({ note: 'Theirs' })
  t.equal((await send('', edited({ ...shown, note: 'Mine' }))).statusCode, 409)
  t.match(await post('', edited({ ...shown, labels: '', quota: '' })), /changed=/)
  t.match(await show(), { labels: { environment: undefined, owner: undefined }, note: 'Theirs', quota: null })
})

t.test('Application: source addresses, public labels and what is only reported are edited in its form', async (t) => {
  const { send, post, page, path, show, browser } = await setting(t)
  const values = {
    source_addresses: ' 192.0.2.0/24\r\n\r\n::1 ',
    public_labels: 'tier\r\nregion',
    report_only: 'source_addresses quota',
  }
  t.match(await post('', edited(values)), /changed=/)
  const saved = { sourceAddresses: ['192.0.2.0/24', '::1'], publicLabels: ['tier', 'region'] }
  t.match(await show(), { ...saved, reportOnly: ['source_addresses', 'quota'], quota: null })
  const shown =
    'Quota TOKEN_QUOTA (only reported) Source addresses 192.0.2.0/24, ::1 (only reported) Public labels tier, region'
  t.match(textOf(await page()), shown)
  const form = await browser.body(`${path}/edit`)
  t.match(form, '>\n192.0.2.0/24\n::1</textarea>')
  t.match(form, '<option value="source_addresses quota" selected>Source addresses and quota</option>')
  t.match(textOf(form), 'Nothing')
  const before = { shown_source_addresses: '192.0.2.0/24\r\n::1', shown_report_only: values.report_only }
  const wrong = await send('', edited({ ...before, source_addresses: 'a.example' }))
  t.equal(wrong.statusCode, 422)
  t.match(textOf(wrong.body), /A source address must be an IP address .*: a\.example/)
  t.match(await post('', edited({ ...before, source_addresses: '', report_only: '' })), /changed=/)
  t.match(await show(), { sourceAddresses: { length: 0 }, reportOnly: { length: 0 } })
})

t.test('Application: it is suspended, resumed and, after confirmation, removed, and its tokens revoked', async (t) => {
  const { browser, path, send, post, show, page, administration, clientId, signIn } = await setting(t)
  t.match(await post('suspend'), /changed=\d+$/)
  t.equal((await show()).status, 'suspended')
  t.equal(await post('suspend'), `${path}?done=nothing-changed`)
  t.strictSame(actionsOf(await page())[0], `${path}/resume`)
  t.equal(await post('approve', { suite: 'store' }), `${path}?done=nothing-changed`)
  t.match(await post('approve', { suite: 'third' }), /changed=\d+$/)
  t.strictSame((await show()).suites, ['store', 'third'])
  t.match(await post('resume'), /changed=\d+$/)
  t.equal((await show()).status, 'active')
  t.equal(await post('revoke-tokens', { typed_name: 'Shop' }), `${path}?done=tokens-revoked`)
  t.equal((await show()).tokenGeneration, 1)

  const question = () => browser.body(`${path}/remove`)
  t.match(textOf(await question()), /Remove Shop \? .* secrets are deleted: 1, of which 1 is active\. .* deleted: 2\./)
  t.strictSame(actionsOf(await question()), [`${path}/remove`])
  for (const overlap of [0, MINUTE]) await administration.secrets.rotate(clientId, overlap)
  t.match(textOf(await question()), '3, of which 2 are active')
  const removed = String(await post('remove', { typed_name: 'Shop' }))
  t.match(await browser.text(removed), 'Shop is removed, with 3 secrets and 2 approvals.')
  t.notMatch(await (await signIn('viewer')).text(removed), 'is removed')
  await t.rejects(show())
  const [removal] = (await administration.searchAuditEvents({ subject: clientId, limit: 1 })).events
  const link = `<a href="/audit?subject=${clientId}&amp;open=${removal?.id}#row-${removal?.id}"><time`
  t.match((await browser(path)).body, ` was removed by anna 0 s ago, at ${link}`)
  t.equal(await browser.status(`${path}/remove`), 404)
  t.equal((await send('suspend')).statusCode, 404)
})

t.test('Application: refused ids that look like its own are shown, and for an unknown one similar ones', async (t) => {
  const { administration, browser, page, clientId, refuse } = await setting(t)
  const sent = `${clientId.slice(0, 4).toLowerCase()}... (33 characters)`
  await refuse({ clientId: sent, isKnown: false, reason: 'unknown client' })
  t.match(await page(), `<span class="code">${sent}</span>`, 'which wraps where the table is too wide, unlike <code>')
  const text = textOf(await page())
  t.match(text, 'This may need attention. None of its requests is refused, but those of a similar')
  t.match(text, `No application or suite has this client id unknown client ${sent}`)
  await refuse({ clientId: 'nobo... (6 characters)', isKnown: false, reason: 'unknown client' })
  for (const [asked, ...parts] of [
    [clientId.slice(0, -1), `<a href="/applications/${clientId}">`, `Did you mean one of these? ${clientId} Shop`],
    ['nobody', 'Refused client ids that look like it'],
    ['store', '<a href="/suites/store">'],
    [HOSTILE, `No application has the client id ${HOSTILE}`],
  ] as const) {
    const { statusCode, body } = await browser(`/applications/${encodeURIComponent(asked)}`)
    t.equal(statusCode, 404, asked)
    for (const part of parts) t.match(part.startsWith('<a') ? body : textOf(body), part)
    t.notMatch(body, '<script>alert')
  }
  const names = { name: 'Shop', developerEmail: 'dev@partner.example' }
  for (let n = 0; n < 11; n++) await administration.applications.register({ ...names, clientId: `${clientId}${n}` })
  const { body } = await browser(`/applications/${clientId.slice(0, -1)}`)
  t.match(textOf(body), /Did you mean one of these\? (\S+ Shop ){10}and 2 more /)
})

t.test('Application: its page and forms work with every allowed client id', async (t) => {
  const { browser, administration } = await setting(t)
  for (const clientId of [`/?#%&"'<b>${'i'.repeat(190)}`, 'new', 'remove']) {
    await administration.applications.register({ name: 'Strange', clientId })
    const path = `/applications/${encodeURIComponent(clientId)}`
    const { body } = await browser(path)
    t.match(body, '<title>Strange')
    t.ok(actionsOf(body).every((action) => action.startsWith(path)))
    t.ok(String(await browser.location(`${path}/suspend`, { form: {} })).startsWith(`${path}?changed=`))
  }
})

t.test(
  'Application: a bar shows how much of its quota it has asked for, and the form proposes a higher one',
  async (t) => {
    const { page, browser, store, clientId, clock, show, administration, context, path } = await setting(t)
    const count = async (issued: number, refused = 0) => {
      const applicationKey = (await show()).key
      const hour = Math.floor(clock.time / 3_600_000)
      await store.addTokenCounts([{ applicationKey, hour, issued, refused, lastTokenAt: clock.time }])
    }
    const proposed = async (query = '?propose=quota') =>
      valuesOf(await browser.body(`${path}/edit${query}`), 'quota')[0]
    t.notMatch(await page(), '<meter', 'it has no quota')
    t.equal(await proposed(), '2')
    t.match(textOf(await browser.body(`${path}/edit?propose=quota`)), 'Proposal: 2, not saved yet. Now: none.')
    await count(100)
    context.about.tokenQuota = 2000
    t.match(
      textOf(await page()),
      'Tokens, last hour 0 100 of 2,000 100 of 2,000 asked for since 08:00 UTC ; 0 in the hour',
    )
    t.equal(await proposed(), '3000', 'TOKEN_QUOTA')
    t.match(
      textOf(await browser.body(`${path}/edit?propose=quota`)),
      /Quota Tokens per clock hour\..* \? Proposal: 3,000, not saved yet\. Now: 2,000 \(TOKEN_QUOTA\)\. /,
    )
    await administration.applications.update(clientId, { quota: 500 })
    t.match(await page(), '<meter min="0" low="400" high="500" max="500" optimum="0" value="100" aria-label="Quota">')
    await count(400, 640)
    t.match(
      await page(),
      '<meter min="0" low="400" high="500" max="1140" optimum="0" value="1140" aria-label="Quota">1,140 of 500<',
    )
    t.equal(await proposed(), '1800', 'one and a half times what it asked for')
    t.match(textOf(await browser.body(`${path}/edit?propose=quota`)), 'Proposal: 1,800, not saved yet. Now: 500.')
    t.equal(await proposed(''), '500')
    await store.addUsage([{ clientId, tokens: 20_000, checks: 0, refusals: 0 }], clock.time)
    t.equal(await proposed(), '30000', 'or the last 60 minutes')
    t.equal(await browser.status('/suites/store/edit?propose=quota'), 200, 'a suite has none')
  },
)
