import t, { type Test } from 'tap'
import { cookieOf, createConsoleWorld, textOf } from '../../support/console-world.ts'

/** A viewer who has sent a form of preferences. */
async function setting(t: Test, form: Record<string, string>) {
  const { signIn, administration } = await createConsoleWorld(t)
  await administration.applications.register({ clientId: 'a' })
  const viewer = await signIn('viewer')
  const { headers, statusCode } = await viewer('/preferences', { form })
  const set = [headers['set-cookie'] ?? []].flat()
  const cookie = [viewer.cookie, ...set.map((one) => cookieOf({ headers: { 'set-cookie': one } }))].join('; ')
  const body = (url: string) => viewer.body(url, { headers: { cookie } })
  return { statusCode, set, location: headers.location, body }
}

/** In a zone without summer time, whose offset is half an hour off. */
function inKolkata(t: Test): void {
  const { TZ } = process.env
  process.env.TZ = 'Asia/Kolkata'
  t.teardown(() => {
    if (TZ === undefined) delete process.env.TZ
    else process.env.TZ = TZ
  })
}

t.test('Preferences: without any, pages follow the system and the browser', async (t) => {
  const { body, set } = await setting(t, {})
  t.strictSame(set, [])
  const page = await body('/about')
  t.match(page, '<html lang="en">')
  t.match(page, '<meta name="color-scheme" content="light dark">')
  t.match(page, '>2027-01-15 08:00 UTC</time>')
  t.match(page, 'Times are in UTC.')
})

t.test('Preferences: a viewer chooses a theme and a time zone in the menu, and comes back to the page', async (t) => {
  inKolkata(t)
  const form = { theme: 'dark', zone: 'server', back: '/audit?actor=anna' }
  const { body, statusCode, location, set } = await setting(t, form)
  t.strictSame([statusCode, location], [303, '/audit?actor=anna'])
  for (const cookie of set)
    t.match(cookie, /^__Host-\w+-80=\w+; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=34560000$/)
  const page = await body('/about?x=1')
  t.match(page, '<html lang="en" data-time-zone="Asia/Calcutta">')
  t.match(page, '<meta name="color-scheme" content="dark">')
  t.match(page, '<time datetime="2027-01-15T08:00:00.000Z">2027-01-15 13:30</time>')
  t.match(textOf(page), 'Times are in Asia/Calcutta.')
  t.match(page, '<option value="dark" selected>Dark</option>')
  t.match(page, '<option value="server" selected>The server’s</option>')
  t.match(page, '<input type="hidden" name="back" value="/about?x=1">')
  t.match(page, 'Signed in as <bdi>viktor</bdi>, viewer')
  const overview = await body('/')
  t.match(overview, '<time data-clock="seconds" datetime="2027-01-15T08:00:00.000Z">13:30:00</time>')
  t.match(overview, /<time data-clock="minutes" datetime="2027-01-15T07:56:00.000Z">13:26<\/time>/, 'in charts, too')
  t.match(await body('/secrets'), /<time datetime="[^"]+" data-age title="[^"]+">0 s ago<\/time>/)
  t.match(await body('/operators'), /<time datetime="[^"]+">2027-01-15 13:30<\/time>/)
})

t.test('Preferences: times in UTC are for scripts, too', async (t) => {
  inKolkata(t)
  const page = await (await setting(t, { zone: 'utc' })).body('/about')
  t.match(page, '<html lang="en" data-time-zone="UTC">')
  t.match(page, '>2027-01-15 08:00 UTC</time>')
})

t.test(
  'Preferences: what is unknown or empty deletes the cookie, and another site is never the way back',
  async (t) => {
    for (const back of ['//evil.example', '/\\evil.example', 'https://evil.example', '/a b', '']) {
      const { set, location } = await setting(t, { theme: '', zone: 'Mars', back })
      t.equal(location, '/', back)
      t.strictSame(
        set.map((cookie) => cookie.replace(/Path.*SameSite=Lax; /, '')),
        ['__Host-theme-80=; Max-Age=0', '__Host-zone-80=; Max-Age=0'],
      )
    }
  },
)
