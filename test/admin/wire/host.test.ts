import { connect } from 'node:net'
import t from 'tap'
import { createAdminWorld } from '../../support/admin.ts'
import { said } from '../../support/listening.ts'

const PATH = '/admin/v1/nothing'

t.test('Host: local names are accepted, with any port', async (t) => {
  const { ask } = await createAdminWorld(t)
  for (const host of ['localhost', 'localhost:8081', '127.0.0.1:1', '[::1]', '[::1]:8081', 'LOCALHOST']) {
    t.equal((await ask(PATH, { as: 'admin', headers: { host } })).statusCode, 404, host)
  }
})

t.test('Host: any other name is refused for every path and credential (DNS rebinding)', async (t) => {
  const { ask, events } = await createAdminWorld(t, {
    boundHost: '192.0.2.7',
    adminUrl: 'https://console.example:8443',
  })
  const hosts = ['rebound.example', 'localhost.rebound.example', 'console.example', 'console.example:443', '192.0.2.8']
  const odd = [
    'localhost@rebound.example',
    'localhost:x',
    '127.0.0.1/',
    '[::1',
    'localhost:8081:1',
    '[::1]x',
    'http://localhost',
  ]
  for (const host of [...hosts, ...odd]) {
    for (const url of [PATH, '/', '/assets/console.css', '/login']) {
      const { statusCode, body } = await ask(url, { as: 'admin', headers: { host } })
      t.equal(statusCode, 421, `${host}${url}`)
      t.notMatch(body, 'rebound')
    }
  }
  t.match(events[0], { type: 'operator refused', reason: 'another host' })
  for (const host of ['192.0.2.7', '192.0.2.7:8081', 'console.example:8443', 'localhost']) {
    t.equal((await ask(PATH, { as: 'admin', headers: { host } })).statusCode, 404, host)
  }
})

t.test('Host: the bound IPv6 address is accepted', async (t) => {
  const { ask } = await createAdminWorld(t, { boundHost: 'FD00::1' })
  t.equal((await ask(PATH, { as: 'admin', headers: { host: '[fd00::1]:8081' } })).statusCode, 404)
  t.equal((await ask(PATH, { as: 'admin', headers: { host: '[fd00::2]:8081' } })).statusCode, 421)
})

t.test('Host: the bound address is accepted in any notation', async (t) => {
  const { ask } = await createAdminWorld(t, { boundHost: '2001:0DB8:0:0:0::1%eth0' })
  t.equal((await ask(PATH, { as: 'admin', headers: { host: '[2001:db8::1]:8081' } })).statusCode, 404)
  const unusual = await createAdminWorld(t, { boundHost: 'a<b' })
  t.equal((await unusual.ask(PATH, { as: 'admin', headers: { host: '[2001:db8::1]' } })).statusCode, 421)
})

t.test('RFC 9112 §3.2.2: the host of an absolute-form target is checked, too, and the rest is the path', async (t) => {
  const { listen, keys } = await createAdminWorld(t)
  const { port } = new URL(await listen())
  const exchange = (target: string, host: string) => {
    const socket = connect(Number(port), '127.0.0.1')
    const authorization = `Authorization: Bearer ${keys.admin}`
    socket.write(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${authorization}\r\nConnection: close\r\n\r\n`)
    return said(socket)
  }
  t.match(await exchange(`http://localhost${PATH}`, 'localhost'), /^HTTP\/1\.1 404 /)
  t.match(await exchange(`http://rebound.example${PATH}`, 'localhost'), /^HTTP\/1\.1 421 /)
  t.match(await exchange(`http://localhost${PATH}`, 'rebound.example'), /^HTTP\/1\.1 421 /)
})

t.test('RFC 9112 §3.2: a request without a Host header is refused', async (t) => {
  const { listen } = await createAdminWorld(t)
  const { port } = new URL(await listen())
  for (const version of ['1.0', '1.1']) {
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(`GET / HTTP/${version}\r\nConnection: close\r\n\r\n`)
    t.match(await said(socket), /^HTTP\/1\.1 421 /)
  }
})

t.test('RFC 9112 §3.2: a request with two Host headers is refused, whatever their values', async (t) => {
  const { listen, keys } = await createAdminWorld(t)
  const { port } = new URL(await listen())
  const exchange = (hosts: string) => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(
      `GET ${PATH} HTTP/1.1\r\n${hosts}Authorization: Bearer ${keys.admin}\r\nX-Host: Host\r\nConnection: close\r\n\r\n`,
    )
    return said(socket)
  }
  t.match(await exchange('Host: localhost\r\n'), /^HTTP\/1\.1 404 /)
  for (const second of ['Host: localhost', 'host: rebound.example', 'HOST:']) {
    t.match(await exchange(`Host: localhost\r\n${second}\r\n`), /^HTTP\/1\.1 4(00|21) /, second)
  }
})
