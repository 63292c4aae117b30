import t from 'tap'
import { actionsOf, createConsoleWorld, textOf, withoutIcons } from '../../support/console-world.ts'

const DAY = 24 * 60 * 60_000

t.test('Operators: an admin sees all operators with keys and sessions, and which session is their own', async (t) => {
  const { signIn, administration, context, clock } = await createConsoleWorld(t)
  const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
  for (const one of [userAgent, 'curl/<8>']) {
    const { code } = await administration.operators.makeLoginCode('anna')
    await context.signIn.logIn(code, { remoteAddress: '192.0.2.1', userAgent: one, requestId: 'request-1' })
  }
  const { body } = await (await signIn())('/operators')
  for (const name of ['anna', 'viktor']) t.match(body, `<bdi id="operator-${name}">${name}</bdi>`)
  t.match(
    withoutIcons(body),
    /operator-anna">anna<\/bdi> <span class="badge good">you<\/span><\/th><td[^>]*><div><span class="badge quiet">admin</,
  )
  t.match(body, `title="${userAgent}">Firefox/140<`)
  t.match(body, '>curl/&lt;8&gt;</span>')
  t.match(textOf(body), /This is you.*viktor viewer \S+ \S+ UTC 1 0 .*token-server operators add NAME --role viewer/)
  const actions = actionsOf(body)
  t.ok(['remove', 'keys/2/revoke'].every((what) => actions.includes(`/operators/viktor/${what}`)))
  t.equal(body.split('this one').length, 2)
  t.notMatch(body, 'expired')
  await administration.operators.add('new', 'viewer')
  clock.time += 30 * DAY
  const later = await signIn()
  t.match(await later.body('/operators'), 'expired')
  await administration.operators.add('bert', 'admin')
  for (const name of ['anna', 'viktor']) await administration.operators.remove(name)
  t.match(await (await signIn('bert')).body('/operators'), 'No API keys.')
})

t.test('Operators: keys are revoked, sessions ended and operators removed, also your own', async (t) => {
  const { signIn, ask, administration } = await createConsoleWorld(t)
  const [anna, viktor] = [await signIn('admin'), await signIn('viewer')]
  const post = (path: string, form = {}) => anna.location(`/operators/${path}`, { form })
  t.equal(await post('viktor/keys/2/revoke'), '/operators?done=key-revoked')
  t.equal((await ask('/admin/v1/nothing', { as: 'viewer' })).statusCode, 401)
  const { body } = await anna('/operators')
  t.match(withoutIcons(body), /<span class="badge bad">revoked<\/span> <time/)
  t.notMatch(body, '/operators/viktor/keys/2/revoke', 'once')

  const { sessions } = await administration.operators.show('viktor')
  t.equal(await post(`viktor/sessions/${sessions[0]?.id}/end`), '/operators?done=session-ended')
  t.equal(await viktor.location('/about'), '/login?why=ended')
  t.equal(await anna.status('/about'), 200)
  const removed = String(await post('viktor/remove', { typed_name: 'viktor' }))
  t.match(await anna.text(removed), 'viktor is removed, with 1 key.')
  const gone = await anna('/operators/viktor/remove', { form: { typed_name: 'viktor' } })
  t.equal(gone.statusCode, 404)
  t.match(textOf(gone.body), 'Nothing was changed', 'the page is not what is missing')
  for (const path of ['anna/keys/99/revoke', 'anna/keys/x/revoke', 'anna/sessions/x/end', 'viktor/remove']) {
    const { statusCode, body } = await anna(`/operators/${path}`, { form: {} })
    t.equal(statusCode, 404, `${path} is unknown`)
    if (path === 'viktor/remove') t.match(body, 'There is no operator with the name viktor.')
  }
  await post('anna/remove', { typed_name: 'anna' })
  t.equal(await anna.location('/operators'), '/login?why=ended', 'and you are signed out')
  t.strictSame(await administration.operators.list(), [])
})

t.test('Operators: a viewer can only end their own sessions', async (t) => {
  const { signIn, administration } = await createConsoleWorld(t)
  await signIn('admin')
  const browser = await signIn('viewer')
  const { body } = await browser('/operators')
  t.match(body, 'You are a viewer')
  const [own] = (await administration.operators.show('viktor')).sessions
  const [other] = (await administration.operators.show('anna')).sessions
  t.strictSame(actionsOf(body), [`/operators/viktor/sessions/${own?.id}/end`])
  t.match(body, 'You are signed out at once.')
  t.notMatch(body, 'The browser of this session', 'which is said of other sessions only')
  await signIn('viewer')
  t.match(await browser.body('/operators'), 'The browser of this session is signed out at once.')
  const refused = await browser(`/operators/anna/sessions/${other?.id}/end`, { form: {} })
  t.equal(refused.statusCode, 403)
  t.match(refused.body, 'A viewer can see everything')
  t.equal(await browser.status(`/operators/viktor/sessions/${own?.id}/end`, { form: {} }), 303)
})
