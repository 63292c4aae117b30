import { Command, Option } from 'commander'
import type { ListedOperator } from '../administration/operators.ts'
import { adminKeyView, operatorView, sessionView, timestamp } from '../administration/views.ts'
import { ROLES, type Role } from '../domain/operator.ts'
import { administer, type CreateOption, createOption } from './shared/administer.ts'
import { type JsonOption, print, printOnce, show, type Terminal, withJson } from './shared/terminal.ts'
import { number, table, upToAYear } from './shared/text.ts'

const NAME = 'the name of the operator'

const id = number(/^\d{1,15}$/, 'It must be a number.')

/** `operators …`: manages the operators of the admin listener, their keys and sessions. */
export function operatorsCommand(terminal: Terminal): Command {
  const operators = new Command('operators').description('manage operators, their admin keys and sessions')
  addOperator(operators, terminal)
  addKey(operators, terminal)

  withJson(operators.command('list'))
    .description('list the operators and their keys (never the keys themselves)')
    .action(async (options) => {
      const all = await administer(terminal, ({ operators }) => operators.list())
      await show(terminal, options, all.map(operatorView), operatorsText(all))
    })

  withJson(operators.command('remove'))
    .description('remove an operator, with keys, sessions and login links')
    .argument('<name>', NAME)
    .action(async (name: string, options) => {
      await administer(terminal, ({ operators }) => operators.remove(name))
      await print(terminal, options, { name, status: 'removed' }, `The operator ${name} is removed.`)
    })

  withJson(operators.command('revoke-key'))
    .description('end one admin key now')
    .argument('<name>', NAME)
    .argument('<key-id>', 'its id in operators list', id)
    .action(async (name: string, id: number, options) => {
      const isNew = await administer(terminal, ({ operators }) => operators.revokeKey(name, id))
      const words = isNew ? 'is revoked' : 'was revoked before'
      await print(terminal, options, { operator: name, id, status: 'revoked' }, `The key ${id} of ${name} ${words}.`)
    })

  addSessions(operators, terminal)
  return operators
}

function addOperator(operators: Command, terminal: Terminal): void {
  withJson(operators.command('add'))
    .description('add an operator: a person or a program')
    .argument('<name>', 'the name of the operator in audit events and the log')
    .addOption(new Option('--role <role>', 'admin, or viewer, who may only read').choices(ROLES).makeOptionMandatory())
    .addOption(createOption())
    .action(async (name: string, { role, create, ...options }: CreateOption & JsonOption & { role: Role }) => {
      const operator = await administer(terminal, ({ operators }) => operators.add(name, role), { create })
      const words = `The operator ${name} is added as ${role}. Next: "console ${name}" or "operators key ${name} --expires 90d".`
      await print(terminal, options, operatorView(operator), words)
    })
}

function addKey(operators: Command, terminal: Terminal): void {
  withJson(operators.command('key'))
    .description('make an admin key for the administration API and print it, once')
    .argument('<name>', NAME)
    .addOption(
      new Option('--expires <duration>', 'when it ends: 12h, 90d; 365d at most')
        .argParser(upToAYear)
        .makeOptionMandatory(),
    )
    .action(async (name: string, options: JsonOption & { expires: number }) => {
      const { adminKey, id, endsAt } = await administer(terminal, ({ operators }) =>
        operators.addKey(name, options.expires),
      )
      const end = timestamp(endsAt)
      const words = [
        `operator   ${name}`,
        `key        ${id}`,
        `admin_key  ${adminKey}`,
        `ends_at    ${end}`,
        'The key is shown this once and cannot be shown again.',
      ]
      const lost = `The new key of ${name} is lost: "operators revoke-key ${name} ${id}" ends it.`
      const result = { operator: name, id, admin_key: adminKey, ends_at: end }
      await printOnce(lost, terminal, options, result, words.join('\n'))
    })
}

function addSessions(operators: Command, terminal: Terminal): void {
  withJson(operators.command('sessions'))
    .description('list the open sessions in the console')
    .action(async (options) => {
      const all = await administer(terminal, ({ operators }) => operators.list())
      const sessions = all.flatMap(({ name, sessions }) =>
        sessions.map((session) => ({ operator: name, ...sessionView(session) })),
      )
      const rows = sessions.map((session) => [
        session.operator,
        String(session.id),
        session.created_at,
        session.last_seen_at,
        session.remote_address,
        session.user_agent,
      ])
      const words = table(['operator', 'session', 'began', 'last seen', 'address', 'browser'], rows)
      await show(terminal, options, sessions, words)
    })

  withJson(operators.command('end-session'))
    .description('end one session now')
    .argument('<name>', NAME)
    .argument('<session-id>', 'its id in operators sessions', id)
    .action(async (name: string, id: number, options) => {
      await administer(terminal, ({ operators }) => operators.endSession(name, id))
      await print(terminal, options, { operator: name, id, status: 'ended' }, `The session ${id} of ${name} is ended.`)
    })
}

/** One line per key; operators without a key get one line, too. */
function operatorsText(operators: readonly ListedOperator[]): string {
  const rows = operators.flatMap(({ name, role, keys }) =>
    keys.length === 0 ? [[name, role, '', 'no key', '']] : keys.map((key) => [name, role, ...keyCells(key)]),
  )
  return table(['operator', 'role', 'key', 'state', 'last used'], rows)
}

function keyCells(key: ListedOperator['keys'][number]): string[] {
  const { id, state, ends_at, revoked_at, last_used_at } = adminKeyView(key)
  const words = { active: `ends at ${ends_at}`, expired: `expired at ${ends_at}`, revoked: `revoked at ${revoked_at}` }
  return [String(id), words[state], last_used_at ?? 'never']
}
