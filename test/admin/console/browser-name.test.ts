import t from 'tap'
import { browserName } from '../../../src/admin/console/operators.ts'

const KNOWN = {
  'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0': 'Firefox 140, Linux',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36':
    'Chrome 140, Linux',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/140.0.0.0 Safari/537.36':
    'Chrome 140, Linux',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0':
    'Edge 140, Windows',
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36':
    'Chrome 140, Android',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15':
    'Safari 18, macOS',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1':
    'Safari 18, iOS',
}

t.test('Browsers: a User-Agent of a known browser has a short name', async (t) => {
  for (const [userAgent, name] of Object.entries(KNOWN)) t.equal(browserName(userAgent), name)
})

t.test('Browsers: an unknown User-Agent has no short name', async (t) => {
  const unknown = [
    '',
    'curl/8.0',
    'Firefox/140.0 on Linux',
    'Mozilla/5.0 (X11; Linux) Other/1',
    'Mozilla/5.0 (Haiku) Firefox/1',
    'Mozilla/5.0 (X11; Linux) Firefox/',
  ]
  for (const userAgent of unknown) t.equal(browserName(userAgent), undefined, userAgent)
})
