import type { LoginReason, OperatorReason } from '../../domain/operator.ts'
import { Refusal } from '../../domain/refusal.ts'

/** A request that is refused because of who, or whose page, sends it. A login link that is refused is a page of its own. */
export class RefusedOperator extends Refusal<Exclude<OperatorReason, LoginReason>> {
  /** The admin key that is no longer accepted, and whose it is. */
  readonly key: { operator?: string | undefined; keyId?: number | undefined }

  constructor(reason: Exclude<OperatorReason, LoginReason>, { operator, keyId }: RefusedOperator['key'] = {}) {
    super(reason)
    this.key = { operator, keyId }
  }
}
