import { useState } from 'react'
import { leads, useMe } from '../app/queries'
import { acting } from '../texts/acting'
import { approvals as words } from '../texts/approvals'
import { Button } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { ApprovalCard } from './ApprovalCard'
import { QuestionCard } from './QuestionCard'
import { type Asked, useAsked } from './useWaiting'

/** A button to answer what an agent asks, in a dialog; nothing for users who may not answer. */
export function AnswerAgent({ agent, name }: { agent: string; name: string }) {
  return <AnswerRequest asked={useAsked().get(agent)} name={name} />
}

/** A button to answer a request, in a dialog that stays until it is closed; nothing for users who may not answer. */
export function AnswerRequest({ asked, name }: { asked: Pick<Asked, 'kind' | 'id'> | undefined; name: string }) {
  const [open, setOpen] = useState<Pick<Asked, 'kind' | 'id'> | null>(null)
  const may = leads(useMe().data)
  const close = () => setOpen(null)
  const Card = open?.kind === 'question' ? QuestionCard : ApprovalCard
  const label = asked && (asked.kind === 'question' ? words.answer : words.review)
  return (
    <>
      {may && label && (
        <Button aria-label={acting.of(label, name)} look="primary" onClick={() => setOpen(asked)}>
          {label}
        </Button>
      )}
      <Dialog onClose={close} open={open !== null} title={words.title[open?.kind ?? 'approval']} wide>
        {open && <Card id={open.id} onDone={close} />}
      </Dialog>
    </>
  )
}
