import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { parseHead } from '../../src/administration/audit-chain.ts'
import {
  adoptNotices,
  claimNotice,
  noticeMatters,
  planNotices,
  settledNotice,
} from '../../src/administration/notices.ts'
import type { Notice, NoticeChanges } from '../../src/domain/notice.ts'
import { notice } from '../support/notice.ts'
import { endingSecret, statisticsOf } from '../support/statistics.ts'
import { START } from '../support/world.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const SOURCE = { server: 'web-1:8080', consoleUrl: 'https://console.example' }

const SHOP = { kind: 'application', id: 'a/b', name: '<b>Shop @channel' } as const
const FAILING = {
  ...SHOP,
  reason: 'wrong secret',
  count: 1204,
  since: START - HOUR,
  remedy: 'Use "secrets rotate a/b".',
}
const CALM = { failing: [], reported: [], refusedChecks: [], removed: [] }

const failing = (...ids: string[]) =>
  statisticsOf({
    store: { ...statisticsOf().store, kind: 'postgres' },
    trouble: { ...CALM, failing: ids.map((id) => ({ ...FAILING, id })) },
  })

/** A queue of notices and its clock. What is seen is planned by `look`, and `post` takes what is due. */
function createQueue() {
  const clock = { time: START }
  let stored: Notice[] = []
  const change = ({ save, remove = [] }: NoticeChanges) => {
    const all = new Map([...stored, ...save].map((one) => [one.id, one]))
    for (const id of remove) all.delete(id)
    stored = [...all.values()].sort((one, other) => one.id - other.id)
    return save.length
  }
  return {
    clock,
    stored: () => stored,
    change,
    look: (statistics = failing(), ending: Parameters<typeof noticeMatters>[1] = [], isWatching = true) => {
      const matters = noticeMatters({ ...statistics, at: clock.time }, ending)
      const { store, trouble } = statistics
      const seen = { isWatching, isPartial: trouble?.isPartial, auditHead: store.auditHead }
      return change(planNotices(stored, matters, { now: clock.time, ...seen, ...SOURCE }))
    },
    /** Takes everything that may be posted now. */
    post: (problem?: string, { retryAfter, status }: { retryAfter?: number; status?: number } = {}) => {
      const posted: Record<string, unknown>[] = []
      for (;;) {
        const { claimed, changes } = claimNotice(stored, clock.time, SOURCE)
        change(changes)
        if (!claimed) return posted
        posted.push(JSON.parse(claimed.body))
        change({ save: [settledNotice(claimed, { problem, retryAfter, status }, clock.time)] })
      }
    },
  }
}

t.test('Notices: a matter has one when it begins and one when it is over, with fields for programs', async (t) => {
  const { look, post, clock, stored } = createQueue()
  look(failing('a/b'))
  const link = 'https://console.example/applications/a%2Fb'
  const [since, detail] = [
    '2027-01-15T07:00:00.000Z',
    'The secret does not match: refused 1,204 times, first at 2027-01-15T07:00:00.000Z.',
  ]
  const title = '<b>Shop @channel (application a/b)'
  const about = {
    kind: 'client refused',
    subject: SHOP,
    title,
    since,
    detail,
    remedy: 'Use "secrets rotate a/b".',
    link,
    server: 'web-1:8080',
  }
  const shown = '‹b›Shop ＠channel (application a/b)'
  const words =
    'The secret does not match: refused 1,204 times, first at 2027-01-15T07:00:00Z. Use "secrets rotate a/b".'
  t.strictSame(post(), [{ text: `token-server at web-1:8080: ${shown}: ${words} ${link}`, event: 'began', ...about }])
  t.equal(look(failing('a/b')), 0, 'nothing is new')
  clock.time += MINUTE
  look(failing('a/b'))
  t.match(stored(), [{ seenAt: clock.time }])
  clock.time += 5 * MINUTE - 1
  t.equal(look(), 0, 'it may come back')
  clock.time += 1
  t.equal(look(failing(), [], false), 0, 'it is not known yet whether it is over')
  look()
  const text = `token-server at web-1:8080: Over: ${shown}, since 2027-01-15T07:00:00Z.`
  const { remedy, ...known } = about
  t.strictSame(post(), [{ text, event: 'ended', ...known, ended_at: '2027-01-15T08:06:00.000Z' }])
  t.equal(look(), 0)
  look(failing('a/b'))
  t.match(post(), [{ event: 'began' }], 'it begins again')
})

t.test('Notices: the newest audit event is signed if there is a key', async (t) => {
  const { privateKey: auditKey, publicKey } = generateKeyPairSync('ed25519')
  const seen = { now: START, isWatching: true, auditHead: { id: 7, at: START - 1, hash: 'h' }, auditKey, ...SOURCE }
  const [notice] = planNotices([], noticeMatters(failing('a'), []), seen).save
  const { audit_head } = JSON.parse(String(notice?.body))
  t.match(parseHead(JSON.stringify(audit_head), publicKey), { id: 7, hash: 'h' })
})

t.test('Notices: each has the newest audit event, if that is known', async (t) => {
  const { look, post, clock } = createQueue()
  const { store } = failing()
  const failingAt = (id?: number, ...clientIds: string[]) => ({
    ...failing(...clientIds),
    store: { ...store, auditHead: id === undefined ? undefined : { id, at: START - 1, hash: 'h' } },
  })
  look(failingAt(7, 'a'))
  const audit_head = { id: 7, at: '2027-01-15T07:59:59.999Z', hash: 'h', made_at: '2027-01-15T08:00:00.000Z' }
  t.match(post(), [{ event: 'began', audit_head }])
  clock.time += 6 * MINUTE
  look(failingAt(8))
  t.match(post(), [{ event: 'ended', audit_head: { ...audit_head, id: 8, made_at: '2027-01-15T08:06:00.000Z' } }])
  look(failingAt(undefined, 'a'))
  t.match(post(), [{ event: 'began', audit_head: undefined }])
})

t.test('Notices: the most serious matters come first, and each has its place in the console', async (t) => {
  const { look, post } = createQueue()
  const { store } = statisticsOf()
  const failures = { beganAt: START, endedAt: START, failures: 7 }
  const statistics = statisticsOf({
    startedAt: START - DAY,
    workers: { expected: 2, serving: 1, each: [] },
    store: { ...store, isUp: false, canWrite: false, problem: 'The disk is full.' },
    outages: [{ ...failures, beganAt: START - HOUR, endedAt: START - HOUR }, failures],
    heavy: [{ clientId: 'h', name: 'H', tokens: 999 }],
  })
  look(statistics)
  t.match(
    post().map(({ kind, link, since }) => [kind, link, since]),
    [
      ['database unavailable', 'https://console.example/#database', '2027-01-15T08:00:00.000Z'],
      ['processes missing', 'https://console.example/#processes'],
      ['outage', 'https://console.example/refusals?reason=store+unavailable'],
      ['many tokens', 'https://console.example/applications/h'],
      ['no backup', 'https://console.example/#database'],
    ],
  )
  const past = { ...statisticsOf({ startedAt: START, at: START + HOUR, outages: [failures] }) }
  t.strictSame(noticeMatters(past, []), [], 'an outage that is over')
  const many = Array.from({ length: 103 }, (_, n) => `app-${n}`)
  const matters = noticeMatters(failing(...many), [])
  t.strictSame([matters.length, matters[100]?.key], [101, 'more clients refused'])
  const { look: lookAt, post: postAll, clock, stored } = createQueue()
  lookAt(failing(...many))
  t.match(stored().at(-1)?.body, /"title":"3 more clients refused"/)
  clock.time += HOUR
  t.match(postAll().at(-1)?.text, /: 82 more notices: client refused \(81\), more clients refused \(1\)\. https:/)
})

t.test('Notices: a matter that lasts is repeated once a day, unless one about it waits', async (t) => {
  const { look, post, clock, change, stored } = createQueue()
  look(failing('a'))
  t.equal(post().length, 1)
  const repeated: number[] = []
  for (let hour = 1; hour <= 50; hour++) {
    clock.time = START + hour * HOUR
    look(failing('a'))
    if (stored().at(-1)?.at === clock.time) repeated.push(hour)
    if (hour < 40) post()
  }
  t.strictSame(repeated, [24, 48])
  t.match(post(), [{ event: 'continues', since: '2027-01-15T07:00:00.000Z', text: /: Still: / }])
  change({ save: [notice({ id: 99, matter: 'client refused application a', dueAt: START, event: 'continues' })] })
  clock.time += 2 * DAY
  t.equal(look(failing('a')), 1)
  t.match(stored().at(-1), { id: 99, seenAt: clock.time }, 'it was only seen')
})

t.test('Notices: after the clock was set back far, matters are repeated and over as before', async (t) => {
  const { look, post, clock, stored } = createQueue()
  look(failing('a', 'b'))
  t.equal(post().length, 2)
  clock.time -= MINUTE
  t.equal(look(failing('a')), 1, 'another node may be a little ahead')
  clock.time -= 10 * DAY
  look(failing('a'))
  t.match(post(), [
    { event: 'continues', subject: { id: 'a' } },
    { event: 'ended', subject: { id: 'b' } },
  ])
  t.match(stored().slice(-2), [{ at: clock.time }, { at: clock.time }])
  t.equal(look(failing('a')), 0)
})

t.test('Notices: a secret that ends is not told again by a node whose clock is behind', async (t) => {
  const { look, post, clock } = createQueue()
  const ending = [endingSecret({ endsAt: START + 7 * DAY })]
  look(failing(), ending)
  t.match(post(), [{ event: 'began' }])
  for (const time of [START - HOUR, START, START - HOUR]) {
    clock.time = time
    look(failing(), ending)
    t.strictSame(post(), [])
  }
  clock.time = START + 6 * DAY
  look(failing(), ending)
  t.match(post(), [{ event: 'continues' }])

  const back = createQueue()
  const later = [endingSecret({ endsAt: START + 25 * DAY })]
  const told = []
  for (const days of [20, 0, 12]) {
    back.clock.time = START + days * DAY
    back.look(failing(), later)
    told.push(...back.post().map(({ event }) => event))
  }
  t.strictSame(told, ['began', 'continues', 'continues'], 'but after its clock was far ahead')
})

t.test('Notices: where not all clients are examined, one is over when it was not refused for a day', async (t) => {
  const { look, post, clock } = createQueue()
  const { trouble, ...rest } = failing()
  const others = statisticsOf({ ...rest, trouble: { ...CALM, isPartial: true } })
  look(failing('a'))
  t.match(post(), [{ event: 'began' }])
  for (const ago of [6 * MINUTE, DAY - 6 * MINUTE]) {
    clock.time = START + ago
    look(others)
    t.strictSame(post(), [])
  }
  clock.time = START + DAY
  look(others)
  t.match(post(), [{ event: 'ended' }])
})

t.test('Notices: the name of an application may end like a count', async (t) => {
  const { look, post } = createQueue()
  const failing = [{ ...FAILING, name: 'No more' }]
  look(statisticsOf({ trouble: { ...CALM, failing }, store: { ...statisticsOf().store, kind: 'postgres' } }))
  t.match(post(), [{ title: 'No more (application a/b)' }])
})

t.test(
  'Notices: of a secret that ends there is one 30, 14, 7 and 1 days before, with who used it and when',
  async (t) => {
    const { look, post, clock } = createQueue()
    const endsAt = START + 40 * DAY
    const secret = endingSecret({
      ...SHOP,
      secretId: 7,
      endsAt,
      lastUsedAt: START - HOUR,
      developerEmail: 'dev@partner.example',
    })
    const told: unknown[] = []
    for (; clock.time < endsAt; clock.time += 6 * HOUR) {
      const left = (endsAt - clock.time) / DAY
      look(failing(), left <= 30 ? [secret] : [])
      for (const { event } of post()) told.push([event, left])
    }
    t.strictSame(told, [
      ['began', 30],
      ['continues', 14],
      ['continues', 7],
      ['continues', 1],
    ])
    look(failing(), [])
    t.match(post(), [{ event: 'ended', text: /: The secret has ended: / }])

    const federated = createQueue()
    federated.look(failing(), [{ ...secret, what: 'federated credential' }])
    t.match(federated.post(), [
      { detail: /^The federated credential 7 ends in 40 days/, remedy: '"federated add a/b" adds another one.' },
    ])

    const other = createQueue()
    other.look(failing(), [secret, endingSecret({ endsAt })])
    const [{ detail, ...of } = {}, ofSuite] = other.post()
    const words =
      'The secret 7 ends in 40 days, at 2027-02-24T08:00:00.000Z. It was last used at 2027-01-15T07:00:00.000Z.'
    t.equal(detail, `${words} The developer's address is dev@partner.example.`)
    t.match(of, {
      ...{
        kind: 'secret ends',
        secret_id: 7,
        ends_at: '2027-02-24T08:00:00.000Z',
        developer_email: 'dev@partner.example',
      },
      ...{
        last_used_at: '2027-01-15T07:00:00.000Z',
        remedy: /"secrets rotate a\/b"/,
        link: /applications\/a%2Fb#secrets$/,
      },
    })
    t.match(ofSuite, { detail: /It has not been used\.$/, last_used_at: null, developer_email: null })
    other.clock.time += 6 * MINUTE
    other.look(failing(), [])
    t.match(other.post(), [{ text: /: Over: / }, { text: /: Over: / }], 'it was replaced')
  },
)

t.test('Notices: 20 are posted in an hour, of which the last one counts all that wait', async (t) => {
  const { look, post, clock } = createQueue()
  const ids = Array.from({ length: 50 }, (_, n) => `app-${n}`)
  look(failing(...ids))
  const posted = post()
  t.equal(posted.length, 20)
  t.match(posted[18], { event: 'began', subject: { id: 'app-18' } })
  const text = 'token-server at web-1:8080: 31 more notices: client refused (31). https://console.example/'
  const kinds = { 'client refused': 31 }
  const counts = { kind: 'more notices', count: 31, kinds, link: 'https://console.example/', server: 'web-1:8080' }
  t.strictSame(posted[19], { text, event: 'counted', ...counts })
  clock.time += HOUR - 1
  look(failing(...ids, 'more', 'most'))
  t.strictSame(post(), [], 'the others wait')
  clock.time += 1
  t.match(post(), [{ subject: { id: 'more' } }, { subject: { id: 'most' } }])
  clock.time += 10 * MINUTE
  look()
  t.equal(post().length, 18)
})

t.test('Notices: what is bad and new comes first, and what began comes before its end', async (t) => {
  const { look, post, clock, stored } = createQueue()
  const heavy = [{ clientId: 'h', name: 'H', tokens: 999 }]
  look({ ...failing('old', 'gone'), heavy })
  clock.time += 10 * MINUTE
  look({ ...failing('old', 'new'), heavy })
  t.equal(stored().length, 5)
  t.strictSame(
    post().map(({ event, subject }) => `${event} ${(subject as { id: string }).id}`),
    ['began new', 'began old', 'began gone', 'ended gone', 'began h'],
  )
  // The end is newer.
  clock.time += 10 * MINUTE
  look({ ...failing('old', 'new'), heavy: [{ clientId: 'i', name: 'I', tokens: 999 }] })
  clock.time += 10 * MINUTE
  look(failing('old', 'new'))
  t.strictSame(
    post().map(({ event, subject }) => `${event} ${(subject as { id: string }).id}`),
    ['began i', 'ended i', 'ended h'],
  )
})

t.test('Notices: at most 1,000 wait, the most important ones', async (t) => {
  const { change, post, clock, stored } = createQueue()
  const many = Array.from({ length: 1003 }, (_, n) => notice({ id: n + 1, matter: `${n}`, at: START + n }))
  change({ save: [...many, notice({ id: 2000, matter: 'bad', priority: 1, at: START - DAY })] })
  t.equal(post('down').length, 1)
  const waiting = () => stored().flatMap(({ id, dueAt }) => (dueAt === null ? [] : id))
  t.strictSame([waiting().length, waiting()[0], waiting().at(-1)], [1000, 5, 2000])
  change({ save: [notice({ id: 2001, matter: 'more', at: START + DAY })] })
  change(claimNotice(stored(), clock.time, SOURCE).changes)
  t.strictSame([waiting().length, waiting()[0]], [1000, 6], 'also while the receiver fails')
})

t.test('Notices: a client has one from its third refusal on', async (t) => {
  const seen = (count: number) => {
    const removed = [{ clientId: 'r', name: 'R', by: 'ada', at: START, since: START, count }]
    return noticeMatters(
      statisticsOf({ ...failing(), trouble: { ...CALM, failing: [{ ...FAILING, count }], removed } }),
      [],
    )
  }
  t.strictSame(seen(2), [])
  t.match(seen(3), [{ kind: 'client refused' }, { kind: 'removed client refused' }])
})

t.test('Notices: the store takes over what was posted from memory, unless it knows of it', async (t) => {
  const { change, stored, post } = createQueue()
  const told = notice({ matter: 'outage', sentAt: START, dueAt: null })
  change(adoptNotices(stored(), [told]))
  t.strictSame(stored(), [told])
  change(adoptNotices(stored(), [told, notice({ matter: 'clocks differ web-1:80' })]))
  t.match(stored(), [told, { id: 2, matter: 'clocks differ web-1:80' }])
  t.equal(stored().length, 2)
  t.equal(post().length, 1)
  change({ save: [notice({ id: 3, matter: 'outage', event: 'ended' })] })
  change(adoptNotices(stored(), [told]))
  t.match(stored()[3], { ...told, id: 4 })
})

t.test('Notices: a receiver that fails is asked again after a growing pause, or as late as it wants', async (t) => {
  const { change, post, clock, stored } = createQueue()
  change({ save: [notice(), notice({ id: 2 })] })
  const pauses: number[] = []
  for (let attempt = 1; attempt < 12; attempt++) {
    const before = clock.time
    t.equal(post('it answered 500').length, 1, 'the second one waits, too')
    clock.time = Number(stored()[0]?.dueAt) - 1
    t.strictSame(post(), [])
    clock.time++
    pauses.push((clock.time - before) / SECOND)
  }
  t.strictSame(pauses, [30, 60, 120, 240, 300, 300, 300, 300, 300, 300, 300])
  t.match(stored(), [{ attempts: 11, problem: 'it answered 500', messageId: 'msg_1' }, { attempts: 0 }])
  post('busy', { retryAfter: 2 * HOUR })
  t.equal(stored()[0]?.dueAt, clock.time + 2 * HOUR)
  clock.time += 2 * HOUR
  post('busy', { retryAfter: 30 * DAY })
  t.equal(stored()[0]?.dueAt, clock.time + DAY, 'at most a day')
  clock.time -= 3 * DAY
  t.equal(post('down').length, 1, 'the clock was set back')
  clock.time = START + 7 * DAY + 1
  post('down')
  t.match(
    stored(),
    [
      { dueAt: null, sentAt: null },
      { dueAt: null, sentAt: null },
    ],
    'after a week they are given up',
  )
})

t.test('Notices: one that the receiver refuses does not stop the others, unless it refuses all', async (t) => {
  for (const status of [400, 413, 422]) {
    const { change, post, clock, stored } = createQueue()
    change({ save: [notice(), notice({ id: 2 }), notice({ id: 3 })] })
    const { claimed, changes } = claimNotice(stored(), clock.time, SOURCE)
    change(changes)
    change({ save: claimed ? [settledNotice(claimed, { problem: 'it answered', status }, clock.time)] : [] })
    t.equal(post().length, 2)
    t.match(stored(), [{ sentAt: null }, { sentAt: START }, { sentAt: START }])
    clock.time += 30 * SECOND
    t.equal(post().length, 1, 'it is posted again')
  }
  for (const status of [401, 403, 404, 410, 429, 500, 503, 307, undefined]) {
    const { change, post, clock } = createQueue()
    change({ save: [notice(), notice({ id: 2 })] })
    t.equal(post('it failed', status ? { status } : {}).length, 1)
    clock.time += 30 * SECOND - 1
    t.equal(post().length, 0, `${status}`)
    clock.time++
    t.equal(post().length, 2)
  }
})

t.test('Notices: none is posted while one that failed before is posted again', async (t) => {
  const { change, clock, stored } = createQueue()
  change({ save: [notice({ attempts: 1, problem: 'it answered 400', status: 400 }), notice({ id: 2 })] })
  change(claimNotice(stored(), clock.time, SOURCE).changes)
  t.strictSame(claimNotice(stored(), clock.time, SOURCE).claimed, undefined)
})

t.test(
  'Notices: while one is being posted no process posts any, and half a minute later another one does',
  async (t) => {
    const { change, clock, stored } = createQueue()
    change({ save: [notice(), notice({ id: 2 })] })
    const claim = () => {
      const { claimed, changes } = claimNotice(stored(), clock.time, SOURCE)
      change(changes)
      return claimed?.messageId
    }
    t.strictSame([claim(), claim()], ['msg_1', undefined])
    clock.time += 30 * SECOND - 1
    t.equal(claim(), undefined)
    clock.time++
    t.equal(claim(), 'msg_1')
  },
)

t.test('Notices: those that were posted two days ago are forgotten, except of what is not over', async (t) => {
  const { change, look, clock, stored } = createQueue()
  const old = { dueAt: null, at: START - 2 * DAY - 1, seenAt: START }
  change({
    save: [
      notice({ ...old, id: 1, matter: 'client refused application a' }),
      notice({ ...old, id: 2, matter: 'client refused application a', event: 'continues', at: START - HOUR }),
      notice({ ...old, id: 3, matter: 'gone', event: 'ended' }),
      notice({ ...old, id: 4, matter: '', event: 'counted' }),
      notice({ ...old, id: 5, matter: '', event: 'counted', at: START - 2 * DAY }),
      notice({ ...old, id: 6, dueAt: START }),
      notice({ ...old, id: 7, matter: 'client refused application b' }),
    ],
  })
  clock.time = START
  look(failing('a', 'b'))
  t.strictSame(
    stored().map(({ id }) => id),
    [2, 5, 6, 7, 8],
  )
})

t.test('Notices: a certificate is one matter of all nodes, also when it has expired and is refused', async (t) => {
  const { look, post, clock } = createQueue()
  const endsAt = START + HOUR
  const seenBy = (name: string, problem?: string) =>
    statisticsOf({ ...failing(), name, certificates: [{ listener: 'public', endsAt, problem }] })
  for (const name of ['web-1', 'web-2']) look(seenBy(name))
  t.match(post(), [{ event: 'began', kind: 'certificate', detail: /^It expires at / }])
  clock.time = endsAt + 10 * MINUTE
  for (const name of ['web-1', 'web-2']) look(seenBy(name, 'It has expired.'))
  t.strictSame(post(), [])
})
