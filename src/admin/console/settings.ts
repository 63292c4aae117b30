import type { AdminContext } from '../context.ts'

/** The value of a setting, or empty. */
export function settingOf({ about }: Pick<AdminContext, 'about'>, name: string): string {
  const value = about.settings.find((setting) => setting.name === name)?.value
  return value === undefined || value === 'none' ? '' : value
}
