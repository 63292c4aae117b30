/** The same text in memory of its own: a part of a request's text would keep all of that. */
export function ownText(text: string): string {
  return ` ${text}`.slice(1)
}
