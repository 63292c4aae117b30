import { spawnSync } from 'node:child_process'
import t from 'tap'
import { needs } from '../support/needs.ts'
import { expectAll, misused, shell } from '../support/shell.ts'

/** What a shell offers after the words of a command line, of which the last is being typed. */
type Complete = (words: string[]) => string

const SHELLS: Record<string, Complete> = {
  bash: (words) =>
    `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
    _token_server; printf '%s\n' "\${COMPREPLY[@]}"`,
  // _describe would leave out what does not begin with the last word.
  zsh: (words) =>
    `_describe() { print -l -- $found }; words=(${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length}
    _token-server`,
  fish: (words) => `complete --do-complete '${words.join(' ')}'`,
}

for (const [name, complete] of Object.entries(SHELLS)) {
  t.test(`Completion: commands, subcommands and options, in ${name}`, { skip: needs(name) }, async (t) => {
    const { out } = await shell({}).run(`completion ${name}`)
    const offered = (...words: string[]) => {
      const before = name === 'zsh' ? 'compdef() { :; }\n' : ''
      const { stdout, stderr } = spawnSync(name, ['-c', `${before}${out}\n${complete(['token-server', ...words])}`], {
        encoding: 'utf8',
      })
      t.equal(stderr, '')
      return stdout.split('\n').map((line) => line.replace(/[:\t].*/, ''))
    }
    t.ok(offered('appl').includes('applications'))
    t.ok(offered('applications', 're').includes('register'))
    t.ok(offered('apps', 're').includes('register'), 'by its short name, too')
    t.notOk(offered('applications', 're').includes('--name'))
    t.ok(offered('applications', 'register', '--').includes('--developer-email'))
    t.ok(offered('--').includes('--version'))
  })
}

t.test('Completion: an unknown shell is wrong usage', (t) =>
  expectAll(t, shell({}), [['completion tcsh', misused(/Allowed choices are bash, zsh, fish/)]]),
)
