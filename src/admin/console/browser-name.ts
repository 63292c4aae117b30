/** Browsers by what their User-Agent has, those first that also have the words of another one. */
const BROWSERS = [
  ['Edge', /\bEdg\/(\d+)/],
  ['Opera', /\bOPR\/(\d+)/],
  ['Firefox', /\bFirefox\/(\d+)/],
  ['Chrome', /\b(?:Headless)?Chrome\/(\d+)/],
  ['Safari', /\bVersion\/(\d+)\S* (?:Mobile\/\S+ )?Safari\//],
] as const

/** An iPhone also has “Mac OS X”, and Android has “Linux”. */
const SYSTEMS = [
  ['iPhone', 'iOS'],
  ['iPad', 'iPadOS'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Macintosh', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const

/** A User-Agent in short, such as `Firefox 140, Linux`; undefined: it is none of a known browser. */
export function browserName(userAgent: string): string | undefined {
  if (!userAgent.startsWith('Mozilla/5.0 (')) return
  const system = SYSTEMS.find(([word]) => userAgent.includes(word))
  for (const [browser, version] of BROWSERS) {
    const [, number] = version.exec(userAgent) ?? []
    if (system && number) return `${browser} ${number}, ${system[1]}`
  }
}
