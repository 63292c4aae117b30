import { writeFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import t from 'tap'
import { snippets } from '../../src/web/snippets.ts'
import { needs } from '../support/needs.ts'
import { runProgram } from '../support/run-program.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld } from '../support/world.ts'

/** Client ids may have any printable ASCII character but a space. */
const ODD = `a"b\\c'd$e%41&f=g<h>`

/** The file of each program, and the commands that build and run it. */
const RUNS: Record<string, { file: string; commands: string[][] }> = {
  Python: { file: 'get_token.py', commands: [['/usr/bin/python3', 'get_token.py']] },
  JavaScript: { file: 'get-token.mjs', commands: [[process.execPath, 'get-token.mjs']] },
  Java: { file: 'GetToken.java', commands: [['java', 'GetToken.java']] },
  'C#': {
    file: 'GetToken.cs',
    commands: [
      ['mcs', '-r:System.Net.Http.dll', 'GetToken.cs'],
      ['mono', 'GetToken.exe'],
    ],
  },
  Go: { file: 'main.go', commands: [['go', 'run', 'main.go']] },
  PHP: { file: 'get-token.php', commands: [['php', 'get-token.php']] },
}

for (const { language } of snippets({ url: '', clientId: '' })) {
  const { file, commands } = RUNS[language] as (typeof RUNS)[string]
  const skip = commands.map(([program = '']) => !isAbsolute(program) && needs(program)).find(Boolean) ?? false
  t.test(`Snippets: the one for ${language} gets a token`, { skip }, async (t) => {
    const { app, administration } = await createWorld(t)
    const url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/v1/oauth/accesstoken`
    const odd = await administration.register({ clientId: ODD, name: 'Odd', developerEmail: 'a@b.example' })
    const cwd = temporaryFolder(t)
    const { program } = snippets({ url, clientId: ODD }).find((snippet) => snippet.language === language) ?? {}
    writeFileSync(join(cwd, file), `${program}\n`)
    const env = { CLIENT_SECRET: odd.clientSecret, GOFLAGS: '-mod=mod', GO111MODULE: 'off' }
    let answer = ''
    for (const [command = '', ...args] of commands) {
      const { out, err } = await runProgram(command, args, { cwd, env })
      t.equal(err, '')
      answer = out
    }
    t.match(JSON.parse(answer), { client_id: ODD, token_type: 'bearer' })
  })
}
