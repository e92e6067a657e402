import { ApprovalCard } from '../approvals/ApprovalCard'
import { QuestionCard } from '../approvals/QuestionCard'
import type { Told } from './item'

/** The approval or the question that an item is about. */
export function AskedOf({ item, onDone }: { item: Told; onDone?: () => void }) {
  const Card = item.kind === 'question' ? QuestionCard : ApprovalCard
  return <Card id={item.subject.id} {...(onDone ? { onDone } : {})} />
}
