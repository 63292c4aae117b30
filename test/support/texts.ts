import fc from 'fast-check'

/** Text of any characters up to a code point. Its own units would need a table of all of them, which takes seconds. */
export function anyText(last: number, maxLength = 20): fc.Arbitrary<string> {
  return fc.array(fc.integer({ min: 0, max: last }), { maxLength }).map((codes) => String.fromCodePoint(...codes))
}
