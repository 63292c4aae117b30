import { Argument, type Command } from 'commander'
import { type Terminal, write } from './shared/terminal.ts'

/** What may follow a command, or an option of it that takes a value: without words, a file. The path of the program is empty. */
interface Place {
  path: string[]
  option?: string
  words: [word: string, description?: string][]
}

const SHELLS = { bash: forBash, zsh: forZsh, fish: forFish }

/** Adds `completion`, which needs all commands. */
export function addCompletion(program: Command, terminal: Terminal): void {
  program
    .command('completion')
    .description('print a script for a shell that completes commands and options')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SHELLS)))
    .action((shell: keyof typeof SHELLS) => write(terminal, SHELLS[shell](placesIn(program))))
}

/** Every command, subcommands before the command that they belong to. */
function placesIn(command: Command, path: string[] = []): Place[] {
  const { commands, options } = command
  const words = [
    ...commands.map((child) => [child.name(), child.description()]),
    ...options.map(({ long, description }) => [long, description]),
    ['--help', 'display help for command'],
  ] as Place['words']
  const names = commands.flatMap((child) => [child.name(), ...child.aliases()].map((name) => ({ child, name })))
  const values = options.flatMap(({ long, required, argChoices = [] }): Place[] => {
    const choices = argChoices.filter((choice) => !choice.includes(' '))
    return long && required ? [{ path, option: long, words: choices.map((choice) => [choice]) }] : []
  })
  return [...names.flatMap(({ child, name }) => placesIn(child, [...path, name])), ...values, { path, words }]
}

function forBash(places: Place[]): string {
  const cases = casesOf(places, (words) => `words='${words.map(([word]) => word).join(' ')}'`)
  return `_token_server() {
  local words
  case "\${COMP_WORDS[*]:1:COMP_CWORD-1} " in
${cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _token_server token-server
`
}

function forZsh(places: Place[]): string {
  const cases = casesOf(places, (words) => `found=(${words.map((word) => quoted(word.join(':'))).join(' ')})`)
  return `#compdef token-server
_token-server() {
  local -a found
  case "\${words[2,CURRENT-1]} " in
${cases}
  esac
  _describe -O token-server found || _files
}
if [ "$funcstack[1]" = _token-server ]; then _token-server "$@"; else compdef _token-server token-server; fi
`
}

function casesOf(places: Place[], found: (words: Place['words']) => string): string {
  const typed = ({ path, option }: Place) =>
    `'${path.map((name) => `${name} `).join('')}'*${option ? `'${option} '` : ''}`
  return places.map((place) => `    ${typed(place)}) ${found(place.words)} ;;`).join('\n')
}

function forFish(places: Place[]): string {
  const lines = places.flatMap(({ path, option, words }) => {
    const after = path.map((name) => `__fish_seen_subcommand_from ${name}`)
    const names = words.map(([word]) => word).filter((word) => !word.startsWith('-'))
    if (option) {
      const values = names.length > 0 ? `--no-files --arguments '${names.join(' ')}'` : ''
      return `complete --command token-server --condition '${after.join('; and ')}' --long-option ${option.slice(2)} --require-parameter ${values}\n`
    }
    if (names.length > 0) after.push(`not __fish_seen_subcommand_from ${names.join(' ')}`)
    return words.map(([word, description = '']) => {
      const what = word.startsWith('--') ? `--long-option ${word.slice(2)}` : `--no-files --arguments ${word}`
      return `complete --command token-server --condition '${after.join('; and ')}' ${what} --description ${quoted(description)}\n`
    })
  })
  return lines.join('')
}

/** Quotes a text for all three shells: the descriptions have no backslashes. */
const quoted = (text: string) => `'${text.replaceAll("'", `'"'"'`)}'`
