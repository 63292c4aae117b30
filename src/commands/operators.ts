import { type Command, Option } from 'commander'
import type { ListedOperator } from '../administration/operators.ts'
import { adminKeyView, operatorView, sessionView, timestamp } from '../administration/views.ts'
import { ROLES, type Role } from '../domain/operator.ts'
import { administer, type CreateOption, createOption } from './shared/administer.ts'
import { addCommand, type JsonOption, print, show, type Terminal } from './shared/terminal.ts'
import { labelled, number, stateText, table, upToAYear } from './shared/text.ts'

const NAME = 'the name of the operator'

const id = number(/^\d{1,15}$/, 'It must be a number.')

export function addOperators(program: Command, terminal: Terminal): void {
  const operators = program.command('operators').description('manage operators, their admin keys and sessions')

  addCommand(operators, 'add', 'add an operator: a person or a program')
    .argument('<name>', 'the name of the operator in audit events and the log')
    .addOption(new Option('--role <role>', 'admin, or viewer, who may only read').choices(ROLES).makeOptionMandatory())
    .addOption(createOption())
    .action(async (name: string, { role, create, ...options }: CreateOption & JsonOption & { role: Role }) => {
      const operator = await administer(terminal, ({ operators }) => operators.add(name, role), { create })
      const words = `The operator ${name} is added as ${role}. Next: "console ${name}" or "operators key ${name} --expires 90d".`
      await print(terminal, options, operatorView(operator), words)
    })

  addKeys(operators, terminal)

  addCommand(operators, 'list', 'list the operators and their keys (never the keys themselves)').action(
    async (options) => {
      const all = await administer(terminal, ({ operators }) => operators.list())
      await show(terminal, options, all.map(operatorView), operatorsText(all))
    },
  )

  addCommand(operators, 'remove', 'remove an operator, with keys, sessions and login links')
    .argument('<name>', NAME)
    .action(async (name: string, options) => {
      await administer(terminal, ({ operators }) => operators.remove(name))
      await print(terminal, options, { name, status: 'removed' }, `The operator ${name} is removed.`)
    })

  addSessions(operators, terminal)
}

function addKeys(operators: Command, terminal: Terminal): void {
  addCommand(operators, 'key', 'create an admin key for the administration API, and print it once')
    .argument('<name>', NAME)
    .addOption(
      new Option('--expires <duration>', 'how long it is valid: 12h, 90d; at most 365d')
        .argParser(upToAYear)
        .makeOptionMandatory(),
    )
    .action(async (name: string, options: JsonOption & { expires: number }) => {
      const key = await administer(terminal, ({ operators }) => operators.addKey(name, options.expires))
      const end = timestamp(key.endsAt)
      const lines = labelled({ operator: name, key: String(key.id), admin_key: key.adminKey, ends_at: end })
      const lost = `The new key of ${name} is lost: "operators revoke-key ${name} ${key.id}" ends it.`
      const result = { operator: name, id: key.id, admin_key: key.adminKey, ends_at: end }
      await print(terminal, options, result, `${lines}\nThe key is shown only now and cannot be shown again.`, lost)
    })

  addCommand(operators, 'revoke-key', 'end one admin key now')
    .argument('<name>', NAME)
    .argument('<key-id>', 'its id in "operators list"', id)
    .action(async (name: string, id: number, options) => {
      const isNew = await administer(terminal, ({ operators }) => operators.revokeKey(name, id))
      const words = isNew ? 'is revoked' : 'was already revoked'
      await print(terminal, options, { operator: name, id, status: 'revoked' }, `The key ${id} of ${name} ${words}.`)
    })
}

function addSessions(operators: Command, terminal: Terminal): void {
  addCommand(operators, 'sessions', 'list the open sessions in the console').action(async (options) => {
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

  addCommand(operators, 'end-session', 'end one session now')
    .argument('<name>', NAME)
    .argument('<session-id>', 'its id in "operators sessions"', id)
    .action(async (name: string, id: number, options) => {
      await administer(terminal, ({ operators }) => operators.endSession(name, id))
      await print(terminal, options, { operator: name, id, status: 'ended' }, `The session ${id} of ${name} is ended.`)
    })
}

function operatorsText(operators: readonly ListedOperator[]): string {
  const rows = operators.flatMap(({ name, role, email, keys }) => {
    if (keys.length === 0) return [[name, role, '', 'no key', '', email ?? '']]
    return keys
      .map(adminKeyView)
      .map((key) => [name, role, String(key.id), stateText(key), key.last_used_at ?? 'never', email ?? ''])
  })
  return table(['operator', 'role', 'key', 'state', 'last used', 'email'], rows)
}
