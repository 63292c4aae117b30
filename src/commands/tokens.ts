import { Command } from 'commander'
import { administer } from './shared/administer.ts'
import { print, type Terminal, withJson } from './shared/terminal.ts'

/** `tokens …`: what was issued. */
export function tokensCommand(terminal: Terminal): Command {
  const tokens = new Command('tokens').description("revoke an application's tokens")

  withJson(tokens.command('revoke-all'))
    .description('revoke every token that the application was issued until now')
    .argument('<client-id>')
    .action(async (clientId: string, options) => {
      await administer(terminal, ({ applications }) => applications.revokeAllTokens(clientId))
      const words = `Every token that the application ${clientId} was issued until now is revoked.`
      await print(terminal, options, { client_id: clientId, status: 'revoked' }, words)
    })

  return tokens
}
