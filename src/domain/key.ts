declare const owner: unique symbol

/** The store's own key of a row. Opaque: compare it, hand it back to the store that gave it, and nothing else. */
export type Key<Row extends string> = { readonly [owner]: Row }
