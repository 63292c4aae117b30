import { createServer } from 'node:http'
import { ANSWER_HEADERS, JSON_TYPE } from '../../../src/http/wire/refuse.ts'
import { token } from './answers.ts'
import { keepTicksFast } from './ticks.ts'

// Node.js alone: it reads the body without parsing it, and sends the same answer as constant.ts.

keepTicksFast()
const headers = { ...ANSWER_HEADERS, 'content-type': JSON_TYPE }

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const body = JSON.stringify(token)
    response.writeHead(200, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
  })
})

server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('listening'))
