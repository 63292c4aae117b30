import t from 'tap'
import { attention } from '../../../src/admin/console/attention.ts'
import type { Statistics } from '../../../src/views/statistics.ts'
import { textOf } from '../../support/console-world.ts'
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

/** The matters that are shown: the link and the text of each. */
function mattersOf(more: Partial<Statistics>): [href: string | undefined, text: string][] {
  const items = String(attention(sound(more)))
    .split('<li')
    .slice(1)
  return items.map((item) => [/ href="([^"]*)"/.exec(item)?.[1], textOf(`<li${item}`).trim()])
}

const CALM = { failing: [], reported: [], refusedChecks: [], removed: [] }
const SHOP = { kind: 'application', id: 'a/b', name: '<b>Shop' } as const
const FAILING = { ...SHOP, reason: 'wrong secret', count: 1204, since: START }

t.test('Attention: one quiet line where nothing needs it, and none where that is not known', async (t) => {
  t.equal(textOf(String(attention(sound()))), ' Nothing needs attention ')
  t.match(textOf(String(attention(sound({ trouble: undefined })))), 'is not known yet')
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
        [
          '/about',
          'TLS certificate of the admin listener It expired at 2027-01-15 08:00 UTC. What its files contain now cannot be used: It has expired. Renew it, or mend its files.',
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
    const gone = 'Its keys could not be fetched: it answered 503. None of its JWTs is accepted.'
    t.match(said, [
      `Issuer https://b.example ${gone} token-server doctor says more.`,
      `Issuer https://c.example ${gone} token-server doctor says more.`,
      /Issuer https:\/\/a\.example .* it answered 503\. Those that are known are used until 2027-01-15 08:00 UTC\./,
    ])
  },
)

t.test('Attention: where the clocks differ it does not say that nothing works', async (t) => {
  const store = { ...statisticsOf().store, isUp: false, canWrite: true, problem: 'They are 2 s apart.' }
  const text = textOf(String(attention(sound({ store }))))
  t.match(text, /The clocks of this machine and of the database differ +They are 2 s apart\./)
})

t.test('Attention: each matter is a link to where it is mended, the most serious first', async (t) => {
  const at = '2027-01-15 08:00 UTC'
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
      endingSecrets: { inADay: 1, inAWeek: 1, next: [endingSecret()] },
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
      ['#nodes', `Node web-2:80 is gone It has not reported since ${at} . token-server doctor on its machine says m`],
      ['/applications/a%2Fb', `<b>Shop The secret does not match: refused 1,204 times since ${at} .`],
      ['/suites/s', `S Made up: refused 1 time since ${at} .`],
      [
        '/refusals?reason=store+unavailable',
        'Outage of the database At 2027-01-15 08:00:00 UTC : 1,184 requests answered with 503. From 2027-01-15 06:00:00 U',
      ],
      [
        '/applications/r%2Fs',
        `Mover Would be refused: not sent from a source address of the application: 3 requests since ${at}`,
      ],
      [
        '/applications/c%2Fd',
        `Gone Removed by anna at ${at} . Its client id, or a similar one, was refused 3 times since 2027-0`,
      ],
      [
        '/suites/store#secrets',
        `Store The secret that it uses ends at ${at} . After that, its requests are refused, unless it use`,
      ],
      [
        '/suites/store#checks',
        `Checks at store The token is older than 60 minutes: 2 checks since ${at} ; 10 % of all checks in `,
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

t.test('Attention: of many of a kind the first five are shown, with a link to the others', async (t) => {
  const next = Array.from({ length: 7 }, (_, n) => endingSecret({ ...SHOP, id: `a${n}` }))
  const matters = mattersOf({
    endingSecrets: { inADay: 7, inAWeek: 30, next },
    trouble: { ...CALM, failing: Array.from({ length: 8 }, (_, n) => ({ ...FAILING, id: `f${n}` })) },
    heavy: Array.from({ length: 6 }, (_, n) => ({ clientId: `h${n}`, name: 'H', tokens: 400 })),
  })
  t.equal(matters.length, 18)
  t.match(matters[5], ['/applications?status=failing', /^3 more They/])
  t.match(matters[11], ['/secrets?show=ending&amp;sort=end', /^25 more Their/])
  t.match(matters[17], ['/applications?status=heavy', /^1 more They/])
  const used = mattersOf({ endingSecrets: { inADay: 0, inAWeek: 0, next } })
  t.match(used.at(-1), ['/secrets?show=ending&amp;sort=end', /^2 more Their/], 'in use, though not the last ones')
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
