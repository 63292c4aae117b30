import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import type { Observer } from '../../domain/events.ts'
import { CountedAnswer } from '../../listener/answer.ts'
import { type Measured, pipelineOf } from '../../listener/pipeline.ts'

/** The endpoint of requests without a route. */
export const OTHER = 'other'

/** A class of answers, each of which is reported when it is sent. */
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

    report(status?: number): void {
      if (this.#isReported) return
      this.#isReported = true
      const { endpoint } = this
      const seconds = (performance.now() - this.#begun) / 1000
      if (status === undefined) measure({ type: 'request abandoned', endpoint, seconds })
      else measure({ type: 'request answered', endpoint, status, seconds })
    }
  }
}

/**
 * A clock, in milliseconds, that is read once per turn of the event loop. All requests of a turn were waiting when it began, so
 * this is closer to what clients measure, and cheaper.
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

/** Sets the endpoint of each answer, and reports abandoned requests. Call this before adding routes. */
export function measureRequests(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const name: onRequestHookHandler = (_request, reply, done) => {
      setEndpoint(reply.raw, route.url)
      done()
    }
    route.onRequest = [name, ...[route.onRequest ?? []].flat()]
  })
  app.server.on('connection', (connection: Socket) => {
    connection.once('close', () => pipelineOf(connection).last?.report?.())
  })
}

/** Sets the endpoint of an answer: its route's pattern, or undefined without a route. */
export function setEndpoint(answer: ServerResponse & Partial<Measured>, endpoint: string | undefined): void {
  answer.endpoint = endpoint ?? OTHER
}
