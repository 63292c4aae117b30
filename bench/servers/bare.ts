import { createServer } from 'node:http'
import { noStore, token } from './constants.ts'

// Node.js alone: reads the body, and answers the same as constant.ts without looking at it.

const headers = { ...noStore, 'content-type': 'application/json; charset=utf-8' }

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const body = JSON.stringify(token)
    response.writeHead(200, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
  })
})

server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('listening'))
