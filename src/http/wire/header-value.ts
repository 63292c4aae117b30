/**
 * Any text as a legal header value: printable ASCII as it is, and the rest, a space and a percent sign too,
 * percent-encoded UTF-8 (RFC 3986 §2.1). `decodeURIComponent` gives the text back.
 */
export function headerValue(text: string): string {
  return text.replace(/[^\x21-\x24\x26-\x7e]+/g, encodeURIComponent)
}
