import t from 'tap'
import { attention } from '../../../src/admin/console/attention.ts'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import type { Statistics } from '../../../src/views/statistics.ts'
import { createConsoleWorld, textOf, valuesOf } from '../../support/console-world.ts'
import { serverNode } from '../../support/server-node.ts'
import { endingSecret, statisticsOf, traffic } from '../../support/statistics.ts'
import { START } from '../../support/world.ts'

const HOUR = 60 * 60_000

/** A server that has a backup. */
const sound = (more: Partial<Statistics> = {}) =>
  statisticsOf({
    startedAt: START - 24 * HOUR,
    store: { ...statisticsOf().store, lastBackupAt: START - 47 * HOUR },
    ...more,
  })

const ADMIN = { canChange: true, acknowledged: new Set<string>() }
const VIEWER = { ...ADMIN, canChange: false }

/** The rows that are shown: the link and the text of each, without its button. One for several items has no link. */
function mattersOf(more: Partial<Statistics>): [href: string | undefined, text: string][] {
  const items = String(attention(sound(more), VIEWER))
    .replace(/<a class="button".*?<\/a>/g, '')
    .split('<li')
    .slice(1)
  return items.map((item) => [/ href="([^"]*)"/.exec(item)?.[1], textOf(`<li${item}`).trim()])
}

/** The button of each row: the label and the link. */
function actionsOf(more: Partial<Statistics>, attending = ADMIN): string[] {
  const text = String(attention(sound(more), attending))
  return [...text.matchAll(/<a class="button" href="([^"]*)">([^<]*)/g)].map(([, href, label]) => `${label} ${href}`)
}

const CALM = { failing: [], reported: [], refusedChecks: [], removed: [] }
const SHOP = { kind: 'application', id: 'a/b', name: '<b>Shop' } as const
const FAILING = { ...SHOP, reason: 'wrong secret', count: 1204, since: START }

t.test('Attention: one quiet line where nothing needs it, and none where that is not known', async (t) => {
  t.equal(textOf(String(attention(sound(), ADMIN))), ' Nothing needs attention ')
  t.match(textOf(String(attention(sound({ trouble: undefined }), ADMIN))), 'is not known yet')
})

t.test(
  'Attention: a certificate from 14 days before its end, since when it has expired, and one that is refused',
  async (t) => {
    const [endsAt, problem] = [START + 14 * 24 * HOUR, 'No file.']
    const at = '2027-01-29 08:00 UTC'
    t.strictSame(mattersOf({ certificates: [{ listener: 'public', endsAt, problem: undefined }] }), [])
    t.strictSame(
      mattersOf({
        certificates: [
          { listener: 'public', endsAt: endsAt - 1, problem: undefined },
          { listener: 'admin', endsAt: START, problem: 'It has expired.' },
          { listener: 'ops', endsAt, problem },
        ],
      }).map(([href, text]) => [href, text.replace(/\s+/g, ' ').replaceAll(' .', '.')]),
      [
        [undefined, '3 TLS certificates end, or cannot be used'],
        [
          '/about',
          'TLS certificate of the admin listener It expired 0 s ago. What its files contain now cannot be used: It has expired. Renew it, or mend its files.',
        ],
        [
          '/about',
          `TLS certificate of the ops listener It expires at ${at}. What its files contain now cannot be used: No file. Renew it, or mend its files.`,
        ],
        [
          '/about',
          'TLS certificate of the public listener It expires at 2027-01-29 07:59 UTC. Renew it, or mend its files.',
        ],
      ],
    )
  },
)

t.test(
  'Attention: an issuer whose keys cannot be fetched: until when those that are known are used, and then',
  async (t) => {
    const [problem, day] = ['it answered 503', 24 * HOUR]
    const issuers = [
      { issuer: 'https://a.example', problem, fetchedAt: START - day + 1000 },
      { issuer: 'https://b.example', problem, fetchedAt: START - day },
      { issuer: 'https://c.example', problem, fetchedAt: null },
    ]
    const said = mattersOf({ issuers }).map(([, text]) => text.replace(/\s+/g, ' ').replaceAll(' .', '.'))
    const gone = 'Its keys could not be fetched: it answered 503. Until they are, none of its JWTs is accepted.'
    t.match(said, [
      '3 issuers have keys that cannot be fetched',
      `Issuer https://b.example ${gone} token-server doctor says more.`,
      `Issuer https://c.example ${gone} token-server doctor says more.`,
      /Issuer https:\/\/a\.example .* it answered 503\. Those that are known are used until 2027-01-15 08:00 UTC\./,
    ])
  },
)

t.test('Attention: where the clocks differ it does not say that nothing works', async (t) => {
  const store = { ...statisticsOf().store, isUp: false, canWrite: true, problem: 'They are 2 s apart.' }
  const text = textOf(String(attention(sound({ store }), ADMIN)))
  t.match(text, /The clocks of this machine and of the database differ +They are 2 s apart\./)
})

t.test('Attention: each matter is a link to where it is mended, the most serious first', async (t) => {
  const at = '2027-01-15 09:00 UTC'
  t.strictSame(
    mattersOf({
      store: { ...statisticsOf().store, isUp: false, canWrite: false, canCheck: false, problem: 'The disk is gone.' },
      workers: { expected: 4, serving: 1, each: [] },
      nodes: [{ ...serverNode({ name: 'web-2:80', lastSeenAt: START }), isThis: false, isGone: true }],
      outages: [
        { beganAt: START - 30 * HOUR, endedAt: START - 25 * HOUR, failures: 9 },
        { beganAt: START - 2 * HOUR, endedAt: START - HOUR, failures: 1 },
        { beganAt: START, endedAt: START, failures: 1184 },
      ],
      lastHour: { ...traffic(0), activeChecks: 90, inactiveChecks: 10 },
      refusals: [{ kind: 'check', reason: 'expired token', count: 10 }],
      endingSecrets: { inADay: 1, inAWeek: 1, next: [endingSecret({ endsAt: START + HOUR })] },
      heavy: [{ clientId: 'a', name: 'A', tokens: 1361 }],
      trouble: {
        failing: [FAILING, { ...FAILING, kind: 'suite', id: 's', name: 'S', reason: 'made up', count: 1 }],
        reported: [
          {
            id: 'r/s',
            name: 'Mover',
            reason: 'address not allowed (report only)',
            count: 3,
            since: START,
            remedy: 'Do.',
          },
        ],
        refusedChecks: [{ suite: 'store', reason: 'expired token', count: 2, since: START }],
        removed: [{ clientId: 'c/d', name: 'Gone', by: 'anna', at: START, count: 3, since: START }],
      },
    }).map(([href, text]) => [href, text.slice(0, 112)]),
    [
      [
        '#database',
        'No tokens can be issued or checked Nothing can be changed, and nobody can sign in. The disk is gone. token-serve',
      ],
      [
        '#processes',
        '3 of 4 processes do not answer One that has ended is replaced within seconds. Look for worker exited unexpectedl',
      ],
      ['#nodes', 'Node web-2:80 is gone It last reported 0 s ago . token-server doctor on its machine says more.'],
      [undefined, '2 clients are refused newest 0 s ago'],
      ['/applications/a%2Fb', '<b>Shop The secret does not match: refused 1,204 times, first 0 s ago .'],
      ['/suites/s', 'S Made up: refused 1 time, first 0 s ago .'],
      [
        '/refusals?reason=store+unavailable',
        'Outage of the database At 2027-01-15 08:00:00 UTC : 1,184 requests answered with 503. From 2027-01-15 06:00:00 U',
      ],
      [
        '/applications/r%2Fs',
        'Mover Would be refused: not sent from a source address of the application: 3 requests, first 0 s ago .',
      ],
      [
        '/applications/c%2Fd',
        'Gone Removed by anna 0 s ago . Its client id, or a similar one, was refused 3 times, first 0 s ago .',
      ],
      ['/suites/store#secrets', `Store The secret that it uses ends at ${at} . After that, its requests are refused.`],
      [
        '/suites/store#checks',
        'Checks at store The token is older than 60 minutes: 2 checks, first 0 s ago ; 10 % of all checks in the last hou',
      ],
      ['/applications/a', 'A Many tokens, 1,361 in the last 60 minutes: it should use each until it expires.'],
      ['#database', 'No backup None was made yet. token-server backup FILE makes one.'],
    ],
  )
})

t.test('Attention: if the database can only be read, it says what works, what does not, and what to do', async (t) => {
  const problem = 'The disk is full. Free some space.'
  const matters = mattersOf({ store: { ...sound().store, isUp: false, canWrite: false, problem } })
  const others = 'Checks are answered. Nothing can be changed, and nobody can sign in.'
  const text = `No tokens can be issued ${others} ${problem} token-server doctor says more.`
  t.strictSame(matters, [['#database', text]])
})

t.test('Attention: an application has one entry, with everything that is said of it', async (t) => {
  const matters = mattersOf({
    trouble: { ...CALM, failing: [FAILING] },
    endingSecrets: { inADay: 1, inAWeek: 1, next: [endingSecret(SHOP)] },
    heavy: [{ clientId: 'a/b', name: '<b>Shop', tokens: 1361 }],
  })
  t.equal(matters.length, 1)
  t.equal(matters[0]?.[0], '/applications/a%2Fb')
  t.match(matters[0]?.[1], /^<b>Shop The secret does not match: .* The secret that it uses ends .* Many tokens, 1,361 /)
})

t.test('Attention: several of a kind are one row, which unfolds: the newest first, and a link to others', async (t) => {
  const next = Array.from({ length: 22 }, (_, n) => endingSecret({ ...SHOP, id: `a${n}` }))
  const matters = mattersOf({
    endingSecrets: { inADay: 7, inAWeek: 30, next },
    trouble: {
      ...CALM,
      failing: Array.from({ length: 23 }, (_, n) => ({ ...FAILING, id: `f${n}`, since: START - (n - 7) ** 2 * 1000 })),
    },
    heavy: Array.from({ length: 21 }, (_, n) => ({ clientId: `h${n}`, name: 'H', tokens: 400 })),
  })
  t.equal(matters.length, 66)
  t.strictSame(matters[0], [undefined, '23 applications are refused newest 0 s ago'])
  t.strictSame(
    matters.slice(1, 4).map(([href]) => href),
    ['/applications/f7', '/applications/f6', '/applications/f8'],
  )
  t.match(matters[21], ['/applications?status=failing', /^3 more They/])
  t.strictSame(matters[22], [undefined, '30 applications use a secret that ends within 7 days'])
  t.match(matters[43], ['/secrets?show=ending&amp;sort=end', /^10 more Their/])
  t.strictSame(matters[44], [undefined, '21 applications get many tokens'])
  t.match(matters[65], ['/applications?status=heavy', /^1 more They/])
  const used = mattersOf({ endingSecrets: { inADay: 0, inAWeek: 0, next } })
  t.match(used.at(-1), ['/secrets?show=ending&amp;sort=end', /^2 more Their/], 'in use, though not the last ones')
})

t.test('Attention: a row has a button for what an admin can do, otherwise one that opens its page', async (t) => {
  const reasons = ['wrong secret', 'application not approved', 'token quota exceeded', 'address not allowed', 'made up']
  const more: Partial<Statistics> = {
    store: { ...sound().store, lastBackupAt: START - 72 * HOUR },
    outages: [{ beganAt: START, endedAt: START, failures: 1 }],
    trouble: { ...CALM, failing: reasons.map((reason, n) => ({ ...FAILING, id: `f/${n}`, reason })) },
    endingSecrets: {
      ...{ inADay: 0, inAWeek: 0 },
      next: [
        endingSecret(),
        endingSecret({ ...SHOP, what: 'federated credential' }),
        endingSecret({ id: 'other', newerId: 9 }),
      ],
    },
    heavy: [{ clientId: 'h', name: 'H', tokens: 400 }],
  }
  t.strictSame(actionsOf(more), [
    'Rotate… /applications/f%2F0#rotate',
    'Approve… /applications/f%2F1/edit#approvals',
    'Edit quota… /applications/f%2F2/edit?propose=quota#field-quota',
    'Edit addresses… /applications/f%2F3/edit#field-source_addresses',
    'Open /applications/f%2F4',
    'Open /refusals?reason=store+unavailable',
    'Rotate… /suites/store#rotate',
    'Open /applications/a%2Fb#secrets',
    'Open /suites/other#secrets',
    'Edit quota… /applications/h/edit#field-quota',
  ])
  t.strictSame(new Set(actionsOf(more, VIEWER).map((action) => action.split(' ')[0])), new Set(['Open']))
})

t.test('Attention: a backup is missed on SQLite after two days; a few refused checks are usual', async (t) => {
  const { store } = statisticsOf()
  const backup = (more: object) => mattersOf({ store: { ...store, ...more } }).length
  t.strictSame([backup({}), backup({ databaseBytes: 0 }), backup({ kind: 'postgres' })], [1, 0, 0])
  t.strictSame([backup({ lastBackupAt: START - 48 * HOUR }), backup({ lastBackupAt: START - 48 * HOUR + 1 })], [1, 0])
  t.strictSame(mattersOf({ store, startedAt: START - 24 * HOUR + 1 }), [], 'a new server needs none for a day')
  const reason = 'unknown token'
  const checks = (inactiveChecks: number, counted: string) =>
    mattersOf({
      lastHour: { ...traffic(0), activeChecks: 100 - inactiveChecks, inactiveChecks },
      refusals: [{ kind: 'check', reason: counted, count: inactiveChecks }],
      trouble: { ...CALM, refusedChecks: [{ suite: 'store', reason, count: 2, since: START }] },
    }).length
  t.strictSame([checks(5, reason), checks(6, reason), checks(6, 'expired token')], [0, 1, 0])
})

t.test('Attention: what an admin has acknowledged is below a fold, for all operators, until it changes', async (t) => {
  const { signIn, statistics, administration, store, events, clock } = await createConsoleWorld(t)
  const { listAcknowledged } = store
  const show = (more: Partial<Statistics>) => Object.assign(statistics, sound(more))
  const failing = (more: object = {}) => ({ trouble: { ...CALM, failing: [{ ...FAILING, ...more }] } })
  /** The fold of what is acknowledged, and whether there is anything above it. */
  const seen = (text: string) => [/\d+ acknowledged/.exec(text)?.[0], / Nothing else needs attention /.test(text)]
  show({ ...failing(), heavy: [{ clientId: 'a/b', name: '<b>Shop', tokens: 400 }] })
  const [anna, viktor] = [await signIn(), await signIn('viewer')]
  const warnings = valuesOf(await anna.body('/'), 'warning')
  t.equal(warnings.length, 2, 'what is said of one application is acknowledged together')
  t.strictSame(valuesOf(await viktor.body('/'), 'warning'), [], 'not by a viewer')
  const acknowledge = (warning: string | string[]) =>
    anna.location('/?period=7d&done=acknowledged', { form: { warning } })
  t.equal(await acknowledge('client refused nobody'), '/?period=7d&done=nothing-changed#main')
  t.strictSame(seen(await viktor.text('/')), [undefined, false])
  t.match(
    await anna.body('/'),
    '<form method="post"><input type="hidden" name="warning"',
    'sent to the address of the page',
  )
  t.equal(await acknowledge(warnings), '/?period=7d&done=acknowledged#main', 'with its time range')
  t.match(await anna.text('/?done=acknowledged'), 'until it changes or 7 days have passed')
  t.equal(await acknowledge(warnings), '/?period=7d&done=nothing-changed#main', 'they already are')
  t.strictSame(seen(await viktor.text('/')), ['1 acknowledged', true])
  t.notMatch(await anna.body('/'), '>Acknowledge<')
  const [first, second, other] = (await administration.searchAuditEvents({ limit: 3 })).events
  const detail = 'The secret does not match: refused 1,204 times, first at 2027-01-15T08:00:00.000Z.'
  t.match(
    [first, second].find(({ after } = {} as never) => String(after?.detail).startsWith('The')),
    {
      ...{ action: 'warning acknowledged', actor: 'anna', before: null, after: { name: '<b>Shop', detail } },
      subject: { kind: 'warning', id: 'client refused application a/b wrong secret 2027-01-15T08:00:00.000Z' },
    },
  )
  t.not(other?.action, 'warning acknowledged')
  t.match(events.filter(({ type }) => type === 'warning acknowledged').length, 2)
  t.match(await anna.text('/audit'), /Warning acknowledged .*2 warnings/)

  show({ ...failing({ count: 1300 }), outages: [{ beganAt: START, endedAt: START, failures: 1 }] })
  t.strictSame(seen(await viktor.text('/')), ['1 acknowledged', false], 'something else needs attention')
  await acknowledge(valuesOf(await anna.body('/'), 'warning'))
  t.match(
    await anna.body('/audit'),
    /Warning acknowledged.*<a href="\/">.*Outage of the database.*outage 2027-01-15T08:00/s,
  )
  t.strictSame(seen(await viktor.text('/')), ['2 acknowledged', true])
  store.listAcknowledged = () => Promise.reject(new StoreUnavailable())
  t.strictSame(
    seen(await viktor.text('/')),
    [undefined, false],
    'the page is shown even if the database does not answer',
  )
  store.listAcknowledged = listAcknowledged
  for (const change of [{ reason: 'expired secret' }, { since: START + 1 }, { recoveredAt: START + 1 }, { id: 'c' }]) {
    show(failing(change))
    t.strictSame(seen(await viktor.text('/')), [undefined, false], JSON.stringify(change))
  }
  show(failing())
  const later = async (time: number) => {
    clock.time += time
    return seen(await (await signIn('viewer')).text('/'))
  }
  t.strictSame(await later(7 * 24 * HOUR - 1), ['1 acknowledged', true])
  t.strictSame(await later(1), [undefined, false], 'for a week')
})

t.test('Attention: what the server sees at this moment cannot be acknowledged', async (t) => {
  const store = { ...sound().store, isUp: false, canWrite: false, problem: 'The disk is full.' }
  const workers = { expected: 2, serving: 1, each: [] }
  t.notMatch(String(attention(sound({ store, workers }), ADMIN)), 'Acknowledge')
})
