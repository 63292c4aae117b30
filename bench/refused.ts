/** What the bench cannot do, or what went wrong in it, said in one sentence. */
export class Refused extends Error {}
