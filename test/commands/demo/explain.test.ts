import t from 'tap'
import { explain } from '../../../src/commands/demo/world.ts'

const SHOWN = {
  address: 'http://localhost:8080',
  link: 'http://localhost:8081/login#code',
  application: { clientId: 'an-id', clientSecret: 'a-secret' },
}

t.test('Demo: Enter is named only where someone can press it', async (t) => {
  t.match(explain({ ...SHOWN, isTTY: true }), 'Press Enter for another link.')
  t.notMatch(explain({ ...SHOWN, isTTY: false }), 'Enter')
})
