import type { LoginReason, OperatorReason } from '../../domain/operator.ts'
import { Refusal } from '../../domain/refusal.ts'

/** A request is refused because of its credentials, role, host or origin. Refused login links have a page of their own. */
export class RefusedOperator extends Refusal<Exclude<OperatorReason, LoginReason>> {
  /** The expired or revoked admin key, and its operator. */
  readonly key: { operator?: string | undefined; keyId?: number | undefined }

  constructor(reason: Exclude<OperatorReason, LoginReason>, { operator, keyId }: RefusedOperator['key'] = {}) {
    super(reason)
    this.key = { operator, keyId }
  }
}
