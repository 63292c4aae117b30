import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { needs } from '../support/needs.ts'
import { expectAll, misused, shell } from '../support/shell.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Prints what a shell with the completions in `$SCRIPT` offers for a command line, whose last word is being typed. */
type Complete = (words: string[]) => string

const SHELLS: Record<string, Complete> = {
  bash: (words) =>
    `eval "$SCRIPT"; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
    _token_server; printf '%s\n' "\${COMPREPLY[@]}"`,
  // Only an interactive zsh completes. Its editor reads keys once it has called zle-line-init: Ctrl-D lists, Ctrl-U clears.
  zsh: (words) => `zmodload zsh/zpty; zpty shell TERM=dumb zsh -f -i
    zpty -w shell 'PS1=; stty columns 200; autoload -Uz compinit; compinit -u -D; eval $SCRIPT'
    zpty -w shell 'zle-line-init() { print REA""DY }; zle -N zle-line-init'; zpty -r -m shell before '*READY*'
    zpty -n -w shell '${words.join(' ')}'$'\\x04\\x15''print DO""NE\n'; zpty -r -m shell offered '*DONE*'
    print -r -- $offered`,
  fish: (words) => `eval "$SCRIPT"; complete --do-complete '${words.join(' ')}'`,
}

for (const [name, complete] of Object.entries(SHELLS)) {
  t.test(`Completion: commands, subcommands and options, in ${name}`, { skip: needs(name) }, async (t) => {
    const { out } = await shell({}).run(`completion ${name}`)
    const offered = (...words: string[]) => {
      const { stdout, stderr } = spawnSync(name, ['-c', complete(['token-server', ...words])], {
        encoding: 'utf8',
        env: { ...process.env, SCRIPT: out },
        timeout: 10_000,
      })
      t.equal(stderr, '')
      return stdout.split(/\r*\n/).map((line) => line.replace(/[:\t ].*/, ''))
    }
    t.ok(offered('appl').includes('applications'))
    t.ok(offered('applications', 're').includes('register'))
    t.ok(offered('apps', 're').includes('register'), 'by its short name, too')
    t.notOk(offered('applications', 're').includes('--name'))
    t.ok(offered('applications', 'register', '--').includes('--developer-email'))
    t.ok(offered('--').includes('--version'))
    const viewer = offered('operators', 'add', 'ada', '--role', 'v')
    t.strictSame(
      ['admin', 'viewer', '--role'].filter((word) => viewer.includes(word)),
      ['viewer'],
    )
    const [folder, file] = [temporaryFolder(t), 'key-of-admin']
    writeFileSync(join(folder, file), '')
    const files = offered('apply', 'a.yaml', '--key-file', join(folder, 'key'))
    if (name === 'bash') t.strictSame(files.filter(Boolean), [], 'bash itself completes names of files')
    else t.match(files.join(), file)
    t.notOk(files.includes('--dry-run'))
  })
}

t.test('Completion: an unknown shell is wrong usage', (t) =>
  expectAll(t, shell({}), [['completion tcsh', misused(/Allowed choices are bash, zsh, fish/)]]),
)
