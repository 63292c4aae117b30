import { runFolder } from '../../support/folder.ts'

runFolder(import.meta.dirname)
