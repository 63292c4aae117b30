import { serveWorld } from '../world.ts'

// A process of its own: the overview shows the memory that it uses.
await serveWorld()
