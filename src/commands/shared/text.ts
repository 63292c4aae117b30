import { isUtf8 } from 'node:buffer'
import { OperatorError } from '../../domain/operator-error.ts'
import { visibleOnOneLine } from '../../domain/visible.ts'

/** Bytes as text, without a byte order mark. Throws OperatorError with the place where they are not UTF-8. */
export function decodeText(file: string, content: Buffer): string {
  if (isUtf8(content)) return new TextDecoder().decode(content)
  const lines = content
    .toString('latin1')
    .split('\n')
    .map((line) => Buffer.from(line, 'latin1'))
  const at = lines.findIndex((line) => !isUtf8(line))
  const column = String(lines[at]).indexOf('\ufffd') + 1
  throw new OperatorError(`${file} is not UTF-8 (line ${at + 1} column ${column}).`)
}

/** What takes two columns of a terminal: East Asian wide and full-width characters, and emoji. */
const WIDE =
  /[\p{sc=Han}\p{sc=Hangul}\p{sc=Hiragana}\p{sc=Katakana}\p{RGI_Emoji}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/v

const SEGMENTER = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** How many columns of a terminal a text takes. */
function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  return [...SEGMENTER.segment(text)].reduce((width, { segment }) => width + (WIDE.test(segment) ? 2 : 1), 0)
}

/** Rows of text in columns, under a heading. */
export function table(heading: string[], rows: string[][]): string {
  const lines = [heading, ...rows.map((cells) => cells.map(visibleOnOneLine))]
  const widths = heading.map((_, column) =>
    lines.reduce((width, cells) => Math.max(width, widthOf(cells[column] as string)), 0),
  )
  const padded = (cell: string, width: number) => cell + ' '.repeat(width - widthOf(cell))
  return lines
    .map((cells) =>
      cells
        .map((cell, at) => padded(cell, widths[at] as number))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
