/** The longest answer that is read, in bytes. */
const MAX_ANSWER = 1024 * 1024

/** Like fetch, and reads the answer. Rejects if that has more than MAX_ANSWER bytes. */
export async function fetchLimited(url: string, options: object): Promise<Response> {
  const response = await fetch(url, options)
  if (!response.body) return response
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for await (const chunk of response.body) {
    size += chunk.length
    if (size > MAX_ANSWER) throw new Error(`the answer has more than ${MAX_ANSWER} bytes`)
    chunks.push(chunk)
  }
  return new Response(new Blob(chunks), response)
}
