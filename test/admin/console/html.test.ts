import fc from 'fast-check'
import t from 'tap'
import { html, path } from '../../../src/web/html.ts'
import { unescaped } from '../../support/console-world.ts'

const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '&lt;script&gt;',
  '</title><svg onload=alert(1)>',
  '{{alert(1)}} $&',
  '\u202e\u0000`<!--',
]

t.test('HTML: every text is escaped and survives in attributes, content and nested lists', async (t) => {
  // Not the unit `binary` of fc.string, which makes a table of all characters for that.
  const character = fc.integer({ min: 0, max: 0x10ffff }).filter((code) => code < 0xd800 || code > 0xdfff)
  const text = fc.array(character).map((codes) => String.fromCodePoint(...codes))
  const survives = fc.property(text, fc.string(), (a, b) => {
    const { text } = html`<b title="${a}">${[b, [a, [b]]]}</b>`
    const [, attribute, content = ''] = /^<b title="([^"<>']*)">([^<>"']*)<\/b>$/.exec(text) ?? []
    return attribute !== undefined && unescaped(attribute) === a && unescaped(content) === b + a + b
  })
  fc.assert(survives, { examples: HOSTILE.map((text) => [text, text]) })
  t.pass()
})

t.test('HTML: nested markup is not escaped again; false and undefined render nothing, zero renders 0', async (t) => {
  const inner = html`<i>${'<&>'}</i>`
  const { text } = html`<p>${inner}${[inner, '<', [html`<br>`]]}</p>`
  t.equal(text, '<p><i>&lt;&amp;&gt;</i><i>&lt;&amp;&gt;</i>&lt;<br></p>')
  t.equal(`${inner}`, inner.text)
  t.equal(html`<p>${false}${null}${undefined}${[]}${''}${0}${-1.5}</p>`.text, '<p>0-1.5</p>')
})

t.test('HTML: an object that only looks like Html is not trusted', async (t) => {
  const forged = { text: '<b>', toString: () => '<b>' }
  t.throws(() => html`${forged as never}`, TypeError)
  t.equal(html`${JSON.parse('["<b>"]')}`.text, '&lt;b&gt;')
})

t.test('HTML: a value in an attribute without quotes is refused', async (t) => {
  t.throws(() => html`<a href=${'x'}>`, new TypeError('An attribute has no quotes: <a href='))
  t.throws(() => html` ${'data-a="b"'} value=${'x'}`, TypeError)
  t.throws(() => html`value=${'x'}`, TypeError)
  t.throws(() => html`<a class="b"title=${'x'}>`, TypeError)
  t.equal(html`<a href="/a?b=${'1'}&amp;c=${'"'}">`.text, '<a href="/a?b=1&amp;c=&quot;">')
})

t.test('HTML: a path segment stays one segment, whatever it contains', async (t) => {
  t.equal(path`/applications/${'a/../b?c#d e%2F'}/secrets/${3}`, '/applications/a%2F..%2Fb%3Fc%23d%20e%252F/secrets/3')
  t.equal(path`/about`, '/about')
})
