import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import type { Observer } from '../../domain/events.ts'
import { CountedAnswer } from '../../listener/answer.ts'
import { type Measured, pipelineOf } from '../../listener/pipeline.ts'

/** The endpoint of what has no route. */
export const OTHER = 'other'

/** The class of answers that are said, each as an event, when all of them has left. */
export function measuredAnswer(measure: Observer): typeof CountedAnswer {
  const turn = createTurnClock()

  return class MeasuredAnswer<Request extends IncomingMessage = IncomingMessage>
    extends CountedAnswer<Request>
    implements Measured
  {
    endpoint = OTHER
    readonly #begun = turn()
    #isReported = false

    override detachSocket(socket: Socket): void {
      super.detachSocket(socket)
      this.report(this.statusCode)
    }

    report(status: number): void {
      if (this.#isReported) return
      this.#isReported = true
      measure({ type: 'request answered', endpoint: this.endpoint, status, seconds: this.#seconds() })
    }

    abandon(): void {
      if (this.#isReported) return
      this.#isReported = true
      measure({ type: 'request abandoned', endpoint: this.endpoint, seconds: this.#seconds() })
    }

    #seconds(): number {
      return (performance.now() - this.#begun) / 1000
    }
  }
}

/**
 * A clock that stands still until the event loop turns: all that has come in one turn has come when it began, and was
 * waiting since. One reading for many requests is cheaper, and closer to what their callers see. Milliseconds.
 */
function createTurnClock(): () => number {
  let now = 0
  const forget = () => {
    now = 0
  }
  return () => {
    if (now === 0) {
      now = performance.now()
      setImmediate(forget)
    }
    return now
  }
}

/** Lets each answer know its route, and says which requests nobody waited for. To be called before the routes are added. */
export function measureRequests(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const name: onRequestHookHandler = (_request, reply, done) => {
      nameEndpoint(reply.raw, route.url)
      done()
    }
    route.onRequest = [name, ...[route.onRequest ?? []].flat()]
  })
  app.server.on('connection', (connection: Socket) => {
    connection.once('close', () => pipelineOf(connection).last?.abandon?.())
  })
}

/** Tells an answer which route it is of; undefined: none. */
export function nameEndpoint(answer: ServerResponse & Partial<Measured>, endpoint: string | undefined): void {
  answer.endpoint = endpoint ?? OTHER
}
