import type { Socket } from 'node:net'
import { dial } from '../world/dial.ts'
import type { Attack, Attacked } from './attack.ts'

// A process of its own. Attacks as the first message says, until the next message or until all its requests are answered.

const BLOCK = 200
const RECONNECT_MS = 50
const SLOW_MS = 100
const STATUS = 'HTTP/1.1 200'.length
const HEAD = 'GET /health/live HTTP/1.1\r\nHost: localhost\r\nX-Slow: '

const startedAt = performance.now()
const result: Attacked = { sent: 0, statuses: {}, ended: 0, seconds: 0 }
let isOver = false
let answered = 0
let block = Buffer.alloc(0)

function run(attack: Attack): void {
  const { connections, from = ['127.0.0.1'] } = attack
  if (attack.kind === 'unread') block = Buffer.from(attack.request.repeat(BLOCK))
  for (let n = 0; n < connections; n++) open(attack, from[n % from.length] as string)
}

function open(attack: Attack, from: string): void {
  if (isOver) return
  const socket = dial({ port: attack.port, localAddress: from, noDelay: true })
  socket.on('error', () => {})
  socket.on('close', () => {
    result.ended++
    if (!attack.once) setTimeout(() => open(attack, from), RECONNECT_MS)
  })
  if (attack.kind === 'half-open') socket.write(HEAD)
  if (attack.kind === 'knock') socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => socket.destroy())
  if (attack.kind === 'slow') sendSlowly(socket)
  if (attack.kind === 'unread') sendUnread(socket, attack.blocks)
  if (attack.kind === 'requests') sendRequests(socket, attack)
}

function sendSlowly(socket: Socket): void {
  let at = 0
  const timer = setInterval(() => socket.write(HEAD[at++] ?? 'x'), SLOW_MS)
  socket.on('close', () => clearInterval(timer))
}

function sendUnread(socket: Socket, blocks = Infinity): void {
  let left = blocks
  socket.pause()
  const send = () => {
    while (left-- > 0) {
      result.sent += BLOCK
      if (!socket.write(block)) return
    }
  }
  socket.on('drain', send)
  socket.on('connect', send)
}

function sendRequests(
  socket: Socket,
  { request, inFlight, count, names = Infinity }: Attack & { kind: 'requests' },
): void {
  let waiting = 0
  let tail = ''

  function fill(): void {
    let text = ''
    for (; waiting < inFlight && result.sent < count; waiting++) text += numbered(request, result.sent++ % names)
    if (text !== '') socket.write(text)
  }

  socket.setEncoding('latin1')
  socket.on('connect', fill)
  socket.on('data', (chunk: string) => {
    const text = tail + chunk
    let seen = 0
    for (const match of text.matchAll(/HTTP\/1\.1 (\d{3})/g)) {
      const status = match[1] as string
      result.statuses[status] = (result.statuses[status] ?? 0) + 1
      waiting--
      answered++
      seen = match.index + STATUS
    }
    tail = text.slice(Math.max(seen, text.length - STATUS + 1))
    if (answered >= count) finish()
    else fill()
  })
  // Another connection sends what was not answered, so it does not count as sent.
  socket.on('close', () => {
    result.sent -= Math.max(waiting, 0)
  })
}

/** Puts a number of eight digits, so that the length of the body stays, and an address of its own into a request. */
function numbered(request: string, number: number): string {
  if (!request.includes('#')) return request
  const address = `${11 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}.9`
  return request.replace('#', String(number).padStart(8, '0')).replace('@', address)
}

function finish(): void {
  if (isOver) return
  isOver = true
  result.seconds = (performance.now() - startedAt) / 1000
  process.send?.(result, () => process.exit())
}

process.once('message', (attack: Attack) => {
  run(attack)
  process.once('message', finish)
})
process.on('disconnect', () => process.exit())
