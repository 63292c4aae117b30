import type { OperatorReason } from '../../domain/operator.ts'
import { Refusal } from '../../domain/refusal.ts'

/** A request that is refused because of who, or whose page, sends it. */
export class RefusedOperator extends Refusal<OperatorReason> {}
