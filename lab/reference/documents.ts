import { applySchema } from './apply-schema.ts'
import { commandsPage } from './commands.ts'
import { descriptionIn } from './description.ts'
import { adminDocument } from './openapi/admin.ts'
import { toYaml } from './openapi/document.ts'
import { publicDocument } from './openapi/public.ts'
import { referencePage } from './page.ts'
import { settingsPage } from './settings.ts'

/** What `npm run docs` writes into docs/: the text of each file by its name. */
export async function documents(): Promise<Record<string, string>> {
  const openapi = toYaml(publicDocument())
  return {
    'apply.schema.json': `${JSON.stringify(applySchema(), null, 2)}\n`,
    'openapi.yaml': openapi,
    'openapi-admin.yaml': toYaml(await adminDocument()),
    'operations/commands.md': await commandsPage(),
    'operations/settings.md': settingsPage(),
    'reference.html': referencePage(descriptionIn(openapi), 'openapi.yaml'),
  }
}
