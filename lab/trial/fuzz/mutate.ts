import type { Random } from '../random.ts'

const TOKENS = [
  '\r\n',
  '\r\n\r\n',
  '\n',
  '\r',
  '\0',
  ' ',
  '\t',
  ':',
  '%',
  '%00',
  '%ff',
  '#',
  '?',
  '&',
  '=',
  '//',
  '/../',
  'Content-Length: 3\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Host: x\r\n',
  'ffffffffffffffff\r\n',
  '0\r\n\r\n',
  'GET / HTTP/1.1\r\n',
  '\u00ff\u00fe',
]

/** Changes some bytes of a text (one character per byte). The text may contain secrets, but no marked ones. */
export function mutate(text: string, random: Random): string {
  let result = text
  for (let n = random.between(1, 5); n > 0; n--) {
    const from = random.between(0, result.length + 1)
    const to = Math.min(result.length, from + random.between(1, 20))
    const [before, span, after] = [result.slice(0, from), result.slice(from, to), result.slice(to)]
    result = random.pick([
      () => before + after,
      () => before + span + span + after,
      () => before + random.pick(TOKENS) + span + after,
      () => before + random.bytes(span.length).toString('latin1') + after,
      () => before + span.toUpperCase() + after,
      () => before + [...span].reverse().join('') + after,
      () => before + span,
    ])()
  }
  return result
}
