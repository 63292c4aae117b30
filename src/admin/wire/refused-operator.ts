import type { LoginReason, OperatorReason } from '../../domain/operator.ts'
import { Refusal } from '../../domain/refusal.ts'

/** A request that is refused because of who, or whose page, sends it. A login link that is refused is a page of its own. */
export class RefusedOperator extends Refusal<Exclude<OperatorReason, LoginReason>> {
  /** Whose credential it was that is accepted no more. */
  readonly operator: string | undefined

  constructor(reason: Exclude<OperatorReason, LoginReason>, operator?: string) {
    super(reason)
    this.operator = operator
  }
}
