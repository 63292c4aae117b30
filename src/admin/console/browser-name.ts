/** Browsers by their token in the User-Agent. Those that also contain the token of another one come first. */
const BROWSERS = [
  ['Edge', /\bEdg\/(\d+)/],
  ['Opera', /\bOPR\/(\d+)/],
  ['Firefox', /\bFirefox\/(\d+)/],
  ['Chrome', /\b(?:Headless)?Chrome\/(\d+)/],
  ['Safari', /\bVersion\/(\d+)\S* (?:Mobile\/\S+ )?Safari\//],
] as const

/** Android comes before Linux, because its User-Agent contains both. */
const SYSTEMS = [
  ['iPhone', 'iOS'],
  ['iPad', 'iPadOS'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Macintosh', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const

/** The browser and system of a User-Agent, such as `Firefox 140, Linux`. Undefined: an unknown browser. */
export function browserName(userAgent: string): string | undefined {
  if (!userAgent.startsWith('Mozilla/5.0 (')) return
  const system = SYSTEMS.find(([word]) => userAgent.includes(word))
  for (const [browser, version] of BROWSERS) {
    const [, number] = version.exec(userAgent) ?? []
    if (system && number) return `${browser} ${number}, ${system[1]}`
  }
}
